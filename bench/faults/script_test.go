//go:build linux

package faults

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type tcp = net.TCPConn

// say writes text and reports whether it went out.
func say(c *tcp, text string) bool {
	_, err := c.Write([]byte(text))
	return err == nil
}

// sayUntilGone repeats text every 50 ms until the other side has closed.
func sayUntilGone(c *tcp, text string) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if !say(c, text) {
			return false
		}
	}
	return false
}

// jsonAnswer is a whole chat answer.
func jsonAnswer(text string) string {
	body := `{"choices":[{"index":0,"message":{"role":"assistant","content":"` + text + `"},"finish_reason":"stop"}]}`
	return head("application/json", "Content-Length: "+itoa(len(body))) + body
}

// statusAnswer is a whole refusal.
func statusAnswer(status int, more ...string) string {
	body := `{"error":{"message":"no","type":"x","param":null,"code":` + itoa(status) + `}}`
	h := head("application/json", append(more, "Content-Length: "+itoa(len(body)))...)
	return strings.Replace(h, "200 OK", itoa(status)+" "+http.StatusText(status), 1) + body
}

func itoa(n int) string { return strconv.Itoa(n) }
