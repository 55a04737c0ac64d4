"""Request bodies for gen.py. Bodies are text, so that key order, repeated keys and
the spelling of numbers reach both sides as written."""

import json


def body(messages, **fields):
    return json.dumps({"model": "m", "messages": messages, **fields}, ensure_ascii=False)


def user(text="Hi"):
    return {"role": "user", "content": text}


def call(name, arguments, **extra):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **extra}


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather <now> & \"later\"",
        "parameters": {
            "type": "object",
            "properties": {"zone": {"type": "string"}, "at": {"type": "number", "maximum": 18446744073709551615}},
            "required": ["zone"],
        },
    },
}


def message_lists():
    yield "plain", [user()]
    yield "system and turns", [{"role": "system", "content": "Be brief."}, user("a"), {"role": "assistant", "content": "b"}, user("c")]
    yield "keys in another order", [{"content": "Hi", "role": "user"}]
    yield "a name", [{"role": "user", "content": "Hi", "name": "bob"}]
    yield "a name that is no text", [{"role": "assistant", "content": "Hi", "name": 5}]
    yield "unknown keys are dropped", [{"role": "user", "content": "Hi", "zzz": 1, "cache_control": {"type": "ephemeral"}}]
    yield "no content", [{"role": "user"}]
    yield "null content of a user", [{"role": "user", "content": None}]
    yield "null content of an assistant", [user(), {"role": "assistant", "content": None}]
    yield "an empty content", [user("")]
    yield "a number as content", [{"role": "user", "content": 5}]
    yield "an unknown role", [{"role": "critic", "content": "x"}]
    yield "no role", [{"content": "x"}]
    yield "no messages", []
    yield "text parts", [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    yield "an empty text part", [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]}]
    yield "no parts", [{"role": "user", "content": []}]
    yield "parts with other fields", [{"role": "user", "content": [{"text": "a", "type": "text", "cache_control": {"type": "ephemeral"}, "name": "n"}]}]
    yield "a part of plain text", [{"role": "user", "content": ["a", {"type": "text", "text": "b"}]}]
    yield "a refusal part", [user(), {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]
    yield "a thinking part", [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "closed": True}, {"type": "text", "text": "a"}]}]
    yield "an output_text part", [user(), {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]
    yield "an input_text part", [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]
    yield "a tool reference", [user(), {"role": "tool", "tool_call_id": "1", "content": [{"type": "tool_reference", "name": "weather"}]}]
    yield "an unknown part", [{"role": "user", "content": [{"type": "hologram", "hologram": "x"}]}]
    yield "a part without a type", [{"role": "user", "content": [{"text": "a"}]}]
    yield "a text part with a uuid", [{"role": "user", "content": [{"type": "text", "text": "a", "uuid": "u"}]}]
    yield "a null text", [{"role": "user", "content": [{"type": "text", "text": None}, {"type": "text", "text": "b"}]}]
    yield "system parts", [{"role": "system", "content": [{"type": "text", "text": "s1"}, {"type": "text", "text": "s2"}]}, user()]
    yield "a billing header", [{"role": "system", "content": "x-anthropic-billing-header: cc=1\nYou are x."}, user()]
    yield "nothing but a billing header", [{"role": "system", "content": "x-anthropic-billing-header: cc=1"}, user()]
    yield "a billing header in a part", [{"role": "system", "content": [{"type": "text", "text": "x-anthropic-billing-header: cc=1"}, {"type": "text", "text": "You"}]}, user()]
    yield "a billing header of a user", [user("x-anthropic-billing-header: 1\nyes")]
    yield "a call", [user(), {"role": "assistant", "content": None, "tool_calls": [call("weather", '{"zone": "北京", "at": 1.0}')]}, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
    yield "a call with an index", [user(), {"role": "assistant", "content": "", "tool_calls": [call("weather", '{"b": 1, "a": 1e22}', index=0)]}]
    yield "a call with its keys in another order", [user(), {"role": "assistant", "tool_calls": [{"function": {"arguments": "{}", "name": "f", "extra": 1}, "type": "function", "id": "1", "idx": 3}]}]
    yield "two calls", [user(), {"role": "assistant", "content": "c", "tool_calls": [call("f", "{}"), call("g", '{"x": [1, {"y": null}]}')]}]
    yield "empty arguments", [user(), {"role": "assistant", "tool_calls": [call("f", "")]}]
    yield "arguments that are no JSON", [user(), {"role": "assistant", "tool_calls": [call("f", "{oops")]}]
    yield "arguments that are no object", [user(), {"role": "assistant", "tool_calls": [call("f", "[1]")]}]
    yield "arguments with a raw newline", [user(), {"role": "assistant", "tool_calls": [call("f", '{"a": "x\ny"}')]}]
    yield "arguments with white space", [user(), {"role": "assistant", "tool_calls": [call("f", ' {"a":\n"x\\ny"}\n')]}]
    yield "arguments with repeated keys", [user(), {"role": "assistant", "tool_calls": [call("f", '{"a": 1, "b": 2, "a": 3}')]}]
    yield "arguments with NaN", [user(), {"role": "assistant", "tool_calls": [call("f", '{"a": NaN, "b": -Infinity}')]}]
    yield "arguments with a large int", [user(), {"role": "assistant", "tool_calls": [call("f", '{"a": 123456789012345678901234567890}')]}]
    yield "arguments that are an object", [user(), {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}]
    yield "a call without an id", [user(), {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}]
    yield "a custom call", [user(), {"role": "assistant", "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "f", "input": "x"}}]}]
    yield "no calls", [user(), {"role": "assistant", "content": "x", "tool_calls": []}]
    yield "null calls", [user(), {"role": "assistant", "content": "x", "tool_calls": None}]
    yield "calls of a user", [{"role": "user", "content": "x", "tool_calls": [call("f", "{}")]}]
    yield "reasoning", [user(), {"role": "assistant", "content": "x", "reasoning": "because"}, user()]
    yield "reasoning_content", [user(), {"role": "assistant", "content": "x", "reasoning_content": "because"}, user()]
    yield "both reasonings", [user(), {"role": "assistant", "content": "x", "reasoning_content": "old", "reasoning": "new"}, user()]
    yield "reasoning that is null", [user(), {"role": "assistant", "content": "x", "reasoning_content": "old", "reasoning": None}, user()]
    yield "reasoning and calls", [user(), {"role": "assistant", "content": None, "reasoning": "r", "tool_calls": [call("f", '{"a":1}')], "name": "n"}]
    yield "reasoning of a user", [{"role": "user", "content": "x", "reasoning": "r"}]
    yield "a tool's parts", [user(), {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]}]
    yield "a tool without an id", [user(), {"role": "tool", "content": "x"}]
    yield "a tool with a name", [user(), {"role": "tool", "content": "x", "name": "f", "tool_call_id": "9"}]
    yield "a task", [{"role": "user", "content": "x", "task": "title"}]
    yield "a developer", [{"role": "developer", "content": "Be kind."}, user()]
    yield "a developer after a system", [{"role": "system", "content": "S"}, {"role": "developer", "content": "D"}, user(), {"role": "system", "content": "late"}]
    yield "a developer amid turns", [user("1"), {"role": "assistant", "content": "2"}, {"role": "developer", "content": "D", "name": "n"}, user("3")]
    yield "a developer with parts", [{"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"role": "developer", "content": ""}, user()]
    yield "a developer with tools", [{"role": "developer", "content": "D", "tools": [{"type": "function", "function": {"parameters": {"b": 1}, "name": "f"}}]}, user()]
    yield "a function message", [user(), {"role": "function", "name": "f", "content": None}]
    yield "unicode", [user("naïve 北京 \u2028 \U0001f600 \"quoted\" <b>&amp;</b> '\\' \t\n end")]


def chat_messages():
    for template in ("dump", "parts", "chatml", "developer"):
        for name, messages in message_lists():
            if template in ("chatml", "developer") and not ("developer" in name or "call" in name or "reasoning" in name or name == "plain"):
                continue
            yield {"name": f"{template}: {name}", "kind": "chat", "template": template, "body": body(messages)}


def tool_lists():
    yield "a tool", [WEATHER]
    yield "name only", [{"type": "function", "function": {"name": "f"}}]
    yield "keys in another order", [{"function": {"parameters": {"z": 1, "a": 1.0, "e": 1e22}, "description": "d", "name": "f"}, "type": "function"}]
    yield "unknown keys", [{"type": "function", "x": 1, "function": {"name": "f", "zz": 1, "parameters": {}}}]
    yield "strict", [{"type": "function", "function": {"name": "f", "strict": True}}]
    yield "strict false", [{"type": "function", "function": {"name": "f", "strict": False, "description": None}}]
    yield "strict as text", [{"type": "function", "function": {"name": "f", "strict": "Yes"}}]
    yield "strict null", [{"type": "function", "function": {"name": "f", "strict": None}}]
    yield "deferred", [{"type": "function", "function": {"name": "f"}, "defer_loading": True}]
    yield "deferred within", [{"type": "function", "function": {"name": "f", "defer_loading": False}, "defer_loading": True}]
    yield "no type", [{"function": {"name": "f"}}]
    yield "another type", [{"type": "custom", "function": {"name": "f"}}]
    yield "no function", [{"type": "function"}]
    yield "no name", [{"type": "function", "function": {"description": "d"}}]
    yield "a bad description", [{"type": "function", "function": {"name": "f", "description": 5}}]
    yield "none", []
    yield "null", None
    yield "two", [WEATHER, {"type": "function", "function": {"name": "g", "parameters": {"$defs": {"<>": [True, None, -0.0, 1e-7, 100000000000000000000.0]}}}}]


def chat_tools():
    for name, tools in tool_lists():
        for template in ("dump", "chatml"):
            yield {"name": f"{template}: tools, {name}", "kind": "chat", "template": template, "body": body([user()], tools=tools)}
    for choice in ("none", "auto", None):
        for exclude in (False, True):
            yield {"name": f"tool choice {choice}, exclude {exclude}", "kind": "chat", "template": "dump", "profile": {"exclude_tools": exclude},
                   "body": body([user()], tools=[WEATHER], tool_choice=choice)}


def field_sets():
    yield {}
    yield {"add_generation_prompt": False}
    yield {"add_generation_prompt": "no"}
    yield {"add_generation_prompt": None}
    yield {"add_special_tokens": True}
    yield {"add_special_tokens": 1}
    yield {"documents": [{"title": "t", "text": "x"}]}
    yield {"documents": [{"title": 1}]}
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max", "extreme", None, 5):
        yield {"reasoning_effort": effort}
    yield {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}}
    yield {"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low", "enable_thinking": None}}
    yield {"chat_template_kwargs": {"reasoning_effort": "weird", "custom": {"b": 1, "a": [2.50, None]}}}
    yield {"chat_template_kwargs": {"custom": None}}
    yield {"chat_template_kwargs": {"custom": "auto"}}
    yield {"chat_template_kwargs": {"custom": ""}}
    yield {"chat_template_kwargs": {"bos_token": "<bos>"}}
    yield {"chat_template_kwargs": {"add_generation_prompt": False}}
    yield {"chat_template_kwargs": {"documents": [{"title": "k"}]}}
    yield {"chat_template_kwargs": {"messages": []}}
    yield {"chat_template_kwargs": {"not_in_the_template": 1}}
    yield {"chat_template_kwargs": None}
    yield {"chat_template_kwargs": []}
    yield {"chat_template": "x"}
    yield {"chat_template_kwargs": {"chat_template": "x"}}
    yield {"echo": True}
    yield {"response_format": {"type": "json_object"}}
    yield {"structured_outputs": {"choice": ["a", "b"]}}
    yield {"cache_salt": "pepper"}
    yield {"cache_salt": ""}
    yield {"kv_transfer_params": {"prompt_token_ids": [1, 2, 3]}}
    yield {"kv_transfer_params": {"prompt_token_ids": [1, 2, 3]}, "echo": True}
    yield {"kv_transfer_params": {"prompt_token_ids": []}}
    yield {"kv_transfer_params": {"prompt_token_ids": None, "remote": 1}}


def chat_fields():
    for fields in field_sets():
        yield {"name": "fields " + json.dumps(fields), "kind": "chat", "template": "dump", "body": body([user()], **fields)}
    for kwargs in ({"custom": 1, "enable_thinking": False}, {"custom": None, "reasoning_effort": "low"}):
        for fields in ({}, {"chat_template_kwargs": {"custom": 2, "enable_thinking": None}}, {"reasoning_effort": "high"}):
            yield {"name": f"defaults {json.dumps(kwargs)}, {json.dumps(fields)}", "kind": "chat", "template": "dump",
                   "profile": {"kwargs": kwargs}, "body": body([user()], **fields)}
    for form in ("string", "openai"):
        yield {"name": f"content format {form}", "kind": "chat", "template": "dump", "profile": {"content_format": form},
               "body": body([user(), {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])}
    yield {"name": "repeated keys", "kind": "chat", "template": "dump", "body": '{"messages":[{"role":"user","content":"a","role":"system"}],"tools":null,"tools":[{"type":"function","function":{"name":"f"}}]}'}
    yield {"name": "escapes", "kind": "chat", "template": "dump", "body": '{"messages":[{"role":"us\\u0065r","content":"\\u0041\\ud83d\\ude00\\/\\n\\u0000"}]}'}


def continued():
    finals = ["Once upon", "Once ", " Once\n\n", "", "   ", "a\u00a0", "x\x1c"]
    for template in ("chatml", "trimming", "dump", "parts", "developer"):
        for final in finals:
            yield {"name": f"{template}: continue {final!r}", "kind": "chat", "template": template,
                   "body": body([user(), {"role": "assistant", "content": final}], add_generation_prompt=False, continue_final_message=True)}
    yield {"name": "continue and generate", "kind": "chat", "template": "chatml", "body": body([user()], continue_final_message=True)}
    yield {"name": "continue and generate, said", "kind": "chat", "template": "chatml", "body": body([user()], continue_final_message=True, add_generation_prompt=True)}
    yield {"name": "continue parts", "kind": "chat", "template": "parts",
           "body": body([user(), {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b "}]}], add_generation_prompt=False, continue_final_message=True)}
    yield {"name": "continue no parts", "kind": "chat", "template": "parts", "body": body([user(), {"role": "assistant"}], add_generation_prompt=False, continue_final_message=True)}
    yield {"name": "continue twice the text", "kind": "chat", "template": "chatml",
           "body": body([user("Once"), {"role": "assistant", "content": "Once"}], add_generation_prompt=False, continue_final_message=True)}
    yield {"name": "the tag as a text", "kind": "chat", "template": "chatml",
           "body": body([user(), {"role": "assistant", "content": "CONTINUE_FINAL_MESSAGE_TAG x"}], add_generation_prompt=False, continue_final_message=True)}


def completions():
    prompts = ["Hello", "", None, [1, 2, 3], [[1, 2], [3]], ["a", "b"], [], [1.0, 2], ["a", 1], [[1], "a"], [-1], 5, ["only"], [[]], "<s>x"]
    for prompt in prompts:
        yield {"name": f"prompt {json.dumps(prompt)}", "kind": "completion", "body": json.dumps({"model": "m", "prompt": prompt})}
    for fields in ({"add_special_tokens": False}, {"add_special_tokens": "off"}, {"echo": True}, {"suffix": "x"}, {"cache_salt": "s"}, {"add_special_tokens": None}):
        yield {"name": f"completion {json.dumps(fields)}", "kind": "completion", "body": json.dumps({"model": "m", "prompt": "Hello", **fields})}


def deepseek_conversations():
    thought = {"role": "assistant", "content": "x", "reasoning": "because"}
    called = {"role": "assistant", "content": None, "reasoning": "r", "tool_calls": [call("f", '{"s": "text", "n": 1.50, "o": {"a": [1, null]}, "t": true}'), call("g", "{}") | {"id": "call_2"}]}
    results = [{"role": "tool", "tool_call_id": "call_1", "content": "one"}, {"role": "tool", "tool_call_id": "call_2", "content": "two"}]
    yield "plain", [user()]
    yield "system", [{"role": "system", "content": "S"}, user()]
    yield "only a system", [{"role": "system", "content": "S"}]
    yield "turns", [user("1"), {"role": "assistant", "content": "2"}, user("3")]
    yield "a thought before", [user("1"), thought, user("3")]
    yield "a thought last", [user("1"), thought]
    yield "no thought last", [user("1"), {"role": "assistant", "content": "2"}]
    yield "calls without results", [user(), called]
    yield "calls with one result", [user(), called, results[0]]
    yield "calls with results", [user(), called, *results]
    yield "results in another order", [user(), called, results[1], results[0]]
    yield "results and a question", [user(), called, *results, user("so?")]
    yield "results, an answer and a question", [user(), called, *results, thought, user("more")]
    yield "three results", [user(), called, *results, results[0]]
    yield "a result without a call", [user(), results[0]]
    yield "a result first", [results[0], user()]
    yield "two users", [user("1"), user("2")]
    yield "a user after a system", [{"role": "system", "content": "S"}, {"role": "assistant", "content": "A"}, user("2")]
    yield "a late system", [user("1"), {"role": "system", "content": "S"}]
    yield "a system amid", [user("1"), {"role": "system", "content": "S"}, {"role": "assistant", "content": "A"}, user("2")]
    yield "a developer", [{"role": "developer", "content": "D"}]
    yield "a developer before", [{"role": "developer", "content": "D"}, thought, user("2")]
    yield "a developer with tools", [{"role": "developer", "content": "D", "tools": [WEATHER]}]
    yield "an empty developer", [{"role": "developer", "content": ""}, user()]
    yield "parts", [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]}, {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, user()]
    yield "a tool's parts", [user(), called, {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, results[1]]
    yield "a tool's reference", [user(), called, {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "tool_reference", "name": "n"}]}, results[1]]
    yield "a task", [{"role": "user", "content": "x", "task": "title"}]
    yield "an action", [{"role": "user", "content": "x", "task": "action"}]
    yield "a task's output", [{"role": "user", "content": "x", "task": "query"}, thought, user("y")]
    yield "a user after a task", [{"role": "user", "content": "x", "task": "query"}, user("y")]
    yield "an unknown task", [{"role": "user", "content": "x", "task": "juggle"}]
    yield "a reminder", [user(), {"role": "latest_reminder", "content": "R"}, thought]
    yield "an unknown role", [user(), {"role": "critic", "content": "R"}]
    yield "no content", [{"role": "user"}]


def deepseek_cases(model):
    def cases():
        for name, messages in deepseek_conversations():
            for thinking in (False, True):
                yield {"name": f"{model}, thinking {thinking}: {name}", "kind": "chat", "profile": {"model": model},
                       "body": body(messages, chat_template_kwargs={"thinking": thinking})}
        for fields in ({"tools": [WEATHER, {"type": "function", "function": {"name": "g"}}]}, {"chat_template_kwargs": {"enable_thinking": True}},
                       {"chat_template_kwargs": {"thinking": True, "drop_thinking": False}}, {"reasoning_effort": "none"}, {"reasoning_effort": "max"},
                       {"reasoning_effort": "low"}, {"reasoning_effort": "xhigh"}, {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}},
                       {"chat_template_kwargs": {"reasoning_effort": 5}}, {"add_special_tokens": True}, {}):
            messages = [{"role": "system", "content": "S"}, user("1"), {"role": "assistant", "content": "2", "reasoning": "r"}, user("3")]
            yield {"name": f"{model}: {json.dumps(fields)}", "kind": "chat", "profile": {"model": model}, "body": body(messages, **fields)}
        yield {"name": f"{model}: tools without a system", "kind": "chat", "profile": {"model": model}, "body": body([user()], tools=[WEATHER])}
        yield {"name": f"{model}: a suffix", "kind": "completion", "profile": {"model": model}, "body": json.dumps({"prompt": "a", "suffix": "b"})}

    return cases


def schemas():
    yield {"type": "object", "description": "obj", "properties": {
        "a": {"type": "integer", "description": "d", "default": 1.0, "title": "T"},
        "n": {"default": None, "type": ["string", "null", "integer", 5]},
        "o": {"default": {"x": [1, {"y": None}], "s": "é\n\u0001\"\\"}},
        "e": {"type": "string", "enum": ["x", "y", 1], "default": "x"},
        "nest": {"type": "object", "description": "inner", "properties": {"q": {"type": "array", "items": {"type": "object", "properties": {"z": {"type": "boolean", "nullable": True}}}}}, "required": ["q"]},
        "v": {"oneOf": [{"type": "string", "description": "s1", "default": "k"}, {"type": "number", "nullable": True, "description": "pd"}, {"type": "string", "enum": ["a"], "default": "a", "description": "third"}], "description": "pd", "default": "q"},
        "w": {"oneOf": [{"type": "string", "description": "same"}, {"type": "object", "properties": {"u": {"type": "string", "examples": ["a", 1]}}}], "description": "same"},
        "x": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "string", "enum": ["a"], "default": "a"}, {"type": "integer", "default": 2, "description": "dd"}]}},
        "y": {"oneOf": {}, "description": "odd", "default": 1}, "z": True,
    }, "required": ["a", "v"]}
    yield {"type": "object", "properties": {f"p{i}": {"type": "string", "default": [v]} for i, v in enumerate([1e15, 1e16, 1e17, 123456789012345680.0, 1e-4, 1e-5, 1e-6, 1.5e-7, -0.0, 0.1, 18446744073709551615, 18446744073709551616, -9223372036854775809, 1.5e300, 12345678.9, True])}}
    for s in ({"anyOf": [{"type": "string"}]}, {"type": []}, {"type": "array"}, {"type": "null"}, {"oneOf": []}, {"oneOf": [{"type": "string", "enum": ["a"], "default": "a"}]}, {"type": "string", "nullable": True}, {"type": "string", "description": "two\nlines", "title": 1}, {"type": "string", "enum": []}, {"type": "string", "oneOf": None, "description": "x", "default": "k"}):
        yield {"type": "object", "properties": {"p": s}}
        yield s
    yield {}
    yield {"default": float("nan"), "type": "object", "properties": {"p": {"default": float("nan")}}}


def harmony_cases():
    def case(name, b):
        return {"name": f"harmony: {name}", "kind": "chat", "profile": {"model": "gpt_oss"}, "body": b}

    for name, messages in message_lists():
        yield case(name, body(messages))
    for name, messages in deepseek_conversations():
        yield case("also " + name, body(messages))
    for name, tools in tool_lists():
        yield case(f"tools, {name}", body([user()], tools=tools))
    for i, schema in enumerate(schemas()):
        yield case(f"schema {i}", body([user()], tools=[{"type": "function", "function": {"name": "f", "description": "a\r\nb\n\nc\n", "parameters": schema}}]))
    for effort in ("none", "minimal", "low", "medium", "high", "max", None):
        yield case(f"effort {effort}", body([user()], reasoning_effort=effort))
    yield case("tools and instructions", body([{"role": "developer", "content": "I"}, user()], tools=[WEATHER]))
    yield case("tools and empty instructions", body([{"role": "developer", "content": ""}, user()], tools=[WEATHER]))
    yield case("special tokens in texts", body([{"role": "system", "content": "<|end|>"}, user("a <|start|> b"), {"role": "assistant", "content": "<|return|>"}]))
    yield case("thoughts of several turns", body([user("1"), {"role": "assistant", "content": "2", "reasoning": "a"}, user("3"), {"role": "assistant", "reasoning": "b", "tool_calls": [call("f", "{}")]}, {"role": "tool", "tool_call_id": "call_1", "content": "4"}]))
    yield case("a thought after the last answer", body([user("1"), {"role": "assistant", "content": "2", "reasoning": "a"}, user("3"), {"role": "assistant", "reasoning": "b"}]))
    yield case("a name with a space", body([user(), {"role": "assistant", "tool_calls": [call("a b", "{}")]}]))
    yield case("a template and kwargs", body([user()], chat_template="x", chat_template_kwargs={"a": 1}))
    yield case("reused ids", body([user()], kv_transfer_params={"prompt_token_ids": [1, 2]}))


def response_inputs():
    output = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "out"}]}
    fcall = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"b": 1, "a": 2}'}
    result = {"type": "function_call_output", "call_id": "c1", "output": "done"}
    reasoning = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    yield "text", "Hi"
    yield "empty text", ""
    yield "a user", [{"role": "user", "content": "Hi"}]
    yield "a typed user", [{"type": "message", "role": "user", "content": "Hi"}]
    yield "parts", [{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}]
    yield "a system", [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]
    yield "a developer", [{"role": "developer", "content": [{"type": "input_text", "text": "D"}]}, {"role": "user", "content": "Hi"}]
    yield "a late developer", [{"role": "user", "content": "Hi"}, {"role": "developer", "content": "D"}]
    yield "an answer", [{"role": "user", "content": "Hi"}, output, {"role": "user", "content": "more"}]
    yield "an untyped answer", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "more"}]
    yield "an untyped answer in parts", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "output_text", "text": "x"}, {"type": "output_text", "text": "y"}]}, {"role": "user", "content": "more"}]
    yield "an answer in two parts", [{"role": "user", "content": "Hi"}, {**output, "content": [{"type": "output_text", "text": "x"}, {"type": "output_text", "text": "y"}]}]
    yield "a call", [{"role": "user", "content": "Hi"}, fcall, result]
    yield "two calls", [{"role": "user", "content": "Hi"}, fcall, {**fcall, "call_id": "c2", "name": "g"}, result]
    yield "thought, said and called", [{"role": "user", "content": "Hi"}, reasoning, output, fcall, result]
    yield "said, thought and called", [{"role": "user", "content": "Hi"}, output, reasoning, fcall, result]
    yield "two answers", [{"role": "user", "content": "Hi"}, output, output]
    yield "two thoughts", [{"role": "user", "content": "Hi"}, reasoning, reasoning]
    yield "a thought and a summary", [{"role": "user", "content": "Hi"}, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "sum"}]}, output]
    yield "an empty thought", [{"role": "user", "content": "Hi"}, {"type": "reasoning", "summary": []}, output]
    yield "a thought without a summary", [{"role": "user", "content": "Hi"}, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}]
    yield "an encrypted thought", [{"role": "user", "content": "Hi"}, {"type": "reasoning", "summary": [], "encrypted_content": "x"}]
    yield "a result alone", [{"role": "user", "content": "Hi"}, result]
    yield "a result in parts", [{"role": "user", "content": "Hi"}, fcall, {**result, "output": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}]
    yield "an unfinished answer", [{"role": "user", "content": "Hi"}, {**output, "status": "in_progress"}]
    yield "an unfinished thought", [{"role": "user", "content": "Hi"}, {**reasoning, "status": "incomplete"}]
    yield "an unfinished dict", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x", "status": "in_progress"}]
    yield "an item reference", [{"type": "item_reference", "id": "x"}]
    yield "nothing", []
    yield "a name", [{"role": "user", "content": "Hi", "name": "bob"}]
    yield "an unknown type", [{"type": "hologram"}]
    yield "arguments that are no JSON", [{"role": "user", "content": "Hi"}, {**fcall, "arguments": "x"}, result]


def responses_cases():
    for template, profile in (("dump", {}), ("parts", {}), ("chatml", {}), (None, {"model": "gpt_oss"}), (None, {"model": "deepseek_v32"})):
        label = template or profile["model"]
        for name, given in response_inputs():
            yield {"name": f"responses, {label}: {name}", "kind": "responses", "template": template, "profile": profile, "body": json.dumps({"model": "m", "input": given}, ensure_ascii=False)}
        function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"z": {"type": "string"}}}, "description": "d", "strict": True}
        for fields in ({"instructions": "I"}, {"instructions": ""}, {"instructions": None}, {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}, {"reasoning": {}},
                       {"tools": [function]}, {"tools": [{"type": "function", "name": "g"}]}, {"tools": [{"type": "function", "name": "g", "parameters": None, "strict": False, "defer_loading": True}]}, {"tools": []},
                       {"tools": [function], "tool_choice": "none"}, {"tools": [{"type": "web_search"}]}, {"chat_template_kwargs": {"custom": 1}}, {"truncation": "disabled"}, {"truncation": "auto"},
                       {"cache_salt": "s"}, {"text": {"format": {"type": "json_object"}}}, {"instructions": "I", "tools": [function], "input": [{"role": "developer", "content": "D"}, {"role": "user", "content": "u"}]},
                       {"kv_transfer_params": {"prompt_token_ids": [1, 2]}}, {"chat_template_kwargs": {"chat_template": "x"}}):
            yield {"name": f"responses, {label}: {json.dumps(fields)}", "kind": "responses", "template": template, "profile": profile, "body": json.dumps({"model": "m", "input": "Hi", **fields})}


def anthropic_messages():
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1.50, "a": "é"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    yield "plain", [user()]
    yield "blocks", [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    yield "two blocks", [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]}]
    yield "an empty block", [{"role": "user", "content": [{"type": "text", "text": ""}]}, {"role": "assistant", "content": []}, user()]
    yield "a thought", [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}]}, user()]
    yield "two thoughts", [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}, {"type": "redacted_thinking", "data": "x"}, {"type": "thinking", "thinking": "b"}]}, user()]
    yield "a use", [user(), {"role": "assistant", "content": [{"type": "text", "text": "x"}, use]}, {"role": "user", "content": [result]}]
    yield "a use without input", [user(), {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f"}]}, {"role": "user", "content": [result]}]
    yield "a result and a text", [user(), {"role": "assistant", "content": [use]}, {"role": "user", "content": [{"type": "text", "text": "first"}, result, {"type": "text", "text": "then"}]}]
    yield "results in blocks", [user(), {"role": "assistant", "content": [use]}, {"role": "user", "content": [{**result, "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"type": "tool_result", "tool_use_id": "t2"}]}]
    yield "a result with a reference", [user(), {"role": "assistant", "content": [use]}, {"role": "user", "content": [{**result, "content": [{"type": "tool_reference", "tool_name": "n"}]}]}]
    yield "a system between", [user(), {"role": "system", "content": "note"}, user()]
    yield "a system in blocks", [user(), {"role": "system", "content": [{"type": "text", "text": "n1"}, {"type": "text", "text": "x-anthropic-billing-header: 1"}, {"type": "text", "text": "n2"}]}, user()]
    yield "an assistant last", [user(), {"role": "assistant", "content": "Well,"}]
    yield "no messages", []
    yield "an unknown block", [{"role": "user", "content": [{"type": "hologram"}]}]
    yield "an unknown role", [{"role": "tool", "content": "x"}]
    yield "a null content", [{"role": "user", "content": None}]


def anthropic_cases():
    def case(label, template, profile, name, messages, **fields):
        return {"name": f"anthropic, {label}: {name}", "kind": "messages", "template": template, "profile": profile,
                "body": json.dumps({"model": "m", "max_tokens": 1500, "messages": messages, **fields}, ensure_ascii=False)}

    tool = {"name": "f", "description": "d", "input_schema": {"properties": {"z": {"type": "string"}}}}
    for template, profile in (("defined", {}), ("definedparts", {}), ("chatml", {}), ("ordered", {}), (None, {"model": "gpt_oss"}), (None, {"model": "deepseek_v4"})):
        label = template or profile["model"]
        for name, messages in anthropic_messages():
            yield case(label, template, profile, name, messages)
        for fields in ({"system": "S"}, {"system": ""}, {"system": [{"type": "text", "text": "a"}, {"type": "text", "text": "x-anthropic-billing-header: 1"}, {"type": "text", "text": "b"}]},
                       {"system": "x-anthropic-billing-header: 1\nrest"}, {"tools": [tool]}, {"tools": [{**tool, "strict": True, "input_schema": {"type": "object"}}]}, {"tools": []}, {"tools": [{"name": "f"}]},
                       {"tools": [tool], "tool_choice": {"type": "none"}}, {"thinking": {"type": "enabled", "budget_tokens": 1100}}, {"thinking": {"type": "disabled"}}, {"thinking": {"type": "adaptive"}},
                       {"output_config": {"effort": "high"}}, {"output_config": {"effort": "none"}}, {"output_config": {"effort": "low"}, "thinking": {"type": "disabled"}},
                       {"chat_template_kwargs": {"custom": 1, "enable_thinking": False}}, {"cache_salt": "s"}, {"kv_transfer_params": {"prompt_token_ids": [1, 2]}}):
            yield case(label, template, profile, json.dumps(fields), [user()], **fields)
        yield case(label, template, profile, "a system and one between", [user(), {"role": "system", "content": "note"}, user()], system="S")


FILES = {
    "responses": responses_cases,
    "anthropic": anthropic_cases,
    "deepseek_v32": deepseek_cases("deepseek_v32"),
    "deepseek_v4": deepseek_cases("deepseek_v4"),
    "harmony": harmony_cases,
    "messages": chat_messages,
    "tools": chat_tools,
    "fields": chat_fields,
    "continue": continued,
    "completions": completions,
}
