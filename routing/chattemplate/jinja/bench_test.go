package jinja

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// chatTemplates are written for these benchmarks, in the manner of common models.
var chatTemplates = map[string]string{
	"header": `{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>

'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>

' }}`,
	"chatml": `{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- for tool in tools %}
        {{- "\n" }}{{- tool | tojson }}
    {%- endfor %}
    {{- "<|im_end|>\n" }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {{- tool_call.function.arguments | tojson }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}`,
}

// chatVars are the variables of a chat of some messages of about size bytes.
func chatVars(messages, size int) []byte {
	line := `The quick brown fox jumps over the lazy dog, again and again.\n`
	text := strings.Repeat(line, size/len(line))
	var b bytes.Buffer
	b.WriteString(`{"bos_token":"<s>","add_generation_prompt":true,"tools":null,"messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		fmt.Fprintf(&b, `{"role":%q,"content":"%s"}`, role, text)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkRender(b *testing.B) {
	vars := chatVars(201, 2000)
	for name, source := range chatTemplates {
		b.Run(name, func(b *testing.B) {
			tpl, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			var env, made Env
			v, err := made.Memory.Parse(vars)
			if err != nil {
				b.Fatal(err)
			}
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				env.Memory.Reset()
				if out, err = env.Render(out[:0], tpl, v); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(out)))
		})
	}
}
