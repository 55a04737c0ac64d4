package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Diff lists the paths whose values differ between two configurations, in the
// order of the file. Elements of lists are told by name, so moving one is no
// change: "pools[main].replicas[a:8000].weight", "pools[b] added". A secret is
// compared and its path listed, never its text.
func Diff(before, after *Config) []string {
	var out []string
	diffValue(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), "", func(path string) { out = append(out, path) })
	return out
}

func diffValue(a, b reflect.Value, path string, report func(string)) {
	switch {
	case a.Type() == reflect.TypeFor[Secret]():
		if a.Interface() != b.Interface() {
			report(path)
		}
	case a.Kind() == reflect.Struct:
		for i, f := range slices.Collect(a.Type().Fields()) {
			diffValue(a.Field(i), b.Field(i), join(path, f.Tag.Get("yaml")), report)
		}
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		diffValue(a.Elem(), b.Elem(), path, report)
	case a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct:
		diffList(a, b, path, report)
	default:
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			report(path)
		}
	}
}

func diffList(a, b reflect.Value, path string, report func(string)) {
	left, right := elementNames(a), elementNames(b)
	for i, name := range left {
		at := path + "[" + name + "]"
		if j := slices.Index(right, name); j >= 0 {
			diffValue(a.Index(i), b.Index(j), at, report)
		} else {
			report(at + " removed")
		}
	}
	for _, name := range right {
		if !slices.Contains(left, name) {
			report(path + "[" + name + "] added")
		}
	}
}

// elementNames names the elements of a list; the second of one name gets a
// number, as two API keys of one id do.
func elementNames(list reflect.Value) []string {
	names := make([]string, 0, list.Len())
	for i := range list.Len() {
		name := elementName(list.Index(i).Interface(), i)
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s#%d", elementName(list.Index(i).Interface(), i), n)
		}
		names = append(names, name)
	}
	return names
}

func elementName(element any, index int) string {
	number := fmt.Sprint(index)
	switch t := element.(type) {
	case Pool:
		return cmp.Or(t.Name, number)
	case Replica:
		return cmp.Or(t.ID, number)
	case Model:
		return cmp.Or(t.ID, number)
	case APIKey:
		return cmp.Or(t.ID, number)
	default:
		return number
	}
}

// restartPaths are the settings, with all below them, that a running process
// keeps: they belong to listening sockets, to the connections already accepted
// on them, or to open log files.
var restartPaths = []string{
	"listen.address",
	"listen.tls",
	"listen.max_connections",
	"listen.max_connections_per_ip",
	"listen.header_timeout",
	"listen.idle_timeout",
	"listen.user_timeout",
	"listen.max_header_bytes",
	"listen.max_header_fields",
	"listen.handover_socket",
	"admin.address",
	"admin.tls",
	"admin.pprof",
	"admin.worker_api_on_data",
	"admin.external_metrics",
	"log.format",
	"log.access",
	"log.access_file",
}

// RestartNeeded lists the paths of Diff that take effect only in a new process.
func RestartNeeded(before, after *Config) []string {
	return slices.DeleteFunc(Diff(before, after), func(path string) bool {
		return !slices.ContainsFunc(restartPaths, func(r string) bool {
			return path == r || strings.HasPrefix(path, r+".")
		})
	})
}
