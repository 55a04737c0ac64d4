// The real Node openai SDK against GATEWAY. Environment: see harness.py.
// The package is found through OPENAI_MODULES, the folder that holds node_modules.

import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.OPENAI_MODULES ?? process.cwd(), "package.json"));
const OpenAI = require("openai").default;

const GATEWAY = process.env.GATEWAY.replace(/\/$/, "");
const DIRECT = (process.env.DIRECT ?? GATEWAY).split(",").map((url) => url.replace(/\/$/, ""));
const ENGINE = process.env.ENGINE ?? "vllm";
const MODEL = process.env.MODEL ?? "tiny";
const ROUTES = (process.env.ROUTES ?? (DIRECT.includes(GATEWAY) ? "0" : "1")) === "1";

const client = new OpenAI({ baseURL: GATEWAY + "/v1", apiKey: "none", maxRetries: 0, timeout: 120_000 });
const turns = [{ role: "user", content: "Tell me a story about a bridge." }];
const greedy = { model: MODEL, temperature: 0, max_tokens: 24 };
const long = { model: MODEL, temperature: 0, max_tokens: ENGINE === "llama" ? 60000 : 1900, messages: turns };
const tooLong = [{ role: "user", content: "river ".repeat(ENGINE === "llama" ? 70000 : 4000) }];
const weather = {
  type: "object",
  properties: { unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
  required: ["unit"],
  additionalProperties: false,
};
const forecast = {
  type: "object",
  properties: { warm: { type: "boolean" } },
  required: ["warm"],
  additionalProperties: false,
};

const counts = ENGINE === "llama"
  ? ["llamacpp:requests_processing", "llamacpp:requests_deferred"]
  : ["vllm:num_requests_running", "vllm:num_requests_waiting"];
const generatedName = ENGINE === "llama" ? "llamacpp:tokens_predicted_total" : "vllm:generation_tokens_total";
// Why not faster with llama.cpp: see POLL in harness.py.
const pollMs = ENGINE === "llama" ? 1500 : 10;

class Skip extends Error {}

function need(...engines) {
  if (!engines.includes(ENGINE)) throw new Skip(`not served by ${ENGINE}`);
}

function equal(got, want, what) {
  const [left, right] = [JSON.stringify(got), JSON.stringify(want)];
  if (left !== right) throw new Error(`${what}: got ${left}, want ${right}`);
}

function ok(fact, what) {
  if (!fact) throw new Error(what);
}

async function refused(kind, call) {
  let error;
  try {
    await call();
  } catch (caught) {
    error = caught;
  }
  ok(error, `no exception, want ${kind.name}`);
  ok(error.constructor === kind, `raised ${error.constructor.name} (${error.status}), want ${kind.name}`);
  return error;
}

async function joined(stream) {
  let text = "";
  let reason = null;
  for await (const chunk of stream) {
    for (const choice of chunk.choices) {
      text += choice.delta.content ?? "";
      reason = choice.finish_reason ?? reason;
    }
  }
  return [text, reason];
}

async function metric(names) {
  let total = 0;
  for (const base of DIRECT) {
    const text = await (await fetch(base + "/metrics")).text();
    for (const line of text.split("\n")) {
      if (names.some((name) => line.startsWith(name + "{") || line.startsWith(name + " "))) {
        total += Number(line.slice(line.lastIndexOf(" ") + 1));
      }
    }
  }
  return total;
}

async function waitRunning(wanted, what, limitMs = 30_000) {
  const begun = performance.now();
  for (;;) {
    const count = await metric(counts);
    if (wanted(count)) return performance.now() - begun;
    if (performance.now() - begun > limitMs) throw new Error(`${what}: still ${count} requests after ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, count ? pollMs : 10));
  }
}

const checks = {
  async "models are listed"() {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    ok(names.includes(MODEL), `model missing: ${names}`);
  },
  async "chat answers"() {
    const answer = await client.chat.completions.create({ ...greedy, messages: turns });
    ok(answer.choices[0].message.content, "no content");
    equal(answer.choices[0].finish_reason, "length", "finish reason");
    equal(answer.usage.completion_tokens, 24, "completion tokens");
  },
  async "chat stream equals the whole answer"() {
    const whole = await client.chat.completions.create({ ...greedy, messages: turns });
    const [text, reason] = await joined(await client.chat.completions.create({ ...greedy, messages: turns, stream: true }));
    equal(text, whole.choices[0].message.content, "text");
    equal(reason, "length", "finish reason");
  },
  async "stream helper assembles the whole answer"() {
    const whole = await client.chat.completions.create({ ...greedy, messages: turns });
    const text = await client.chat.completions.stream({ ...greedy, messages: turns }).finalContent();
    equal(text, whole.choices[0].message.content, "text");
  },
  async "completion stream equals the whole answer"() {
    const request = { ...greedy, prompt: "The gateway reads" };
    const whole = await client.completions.create(request);
    let text = "";
    for await (const chunk of await client.completions.create({ ...request, stream: true })) text += chunk.choices[0]?.text ?? "";
    equal(text, whole.choices[0].text, "text");
  },
  async "stream usage equals the whole usage"() {
    const whole = await client.chat.completions.create({ ...greedy, messages: turns });
    const chunks = [];
    const request = { ...greedy, messages: turns, stream: true, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create(request)) chunks.push(chunk);
    const { usage } = chunks.at(-1);
    for (const field of ["prompt_tokens", "completion_tokens", "total_tokens"]) equal(usage[field], whole.usage[field], field);
  },
  async "tool call follows the schema"() {
    need("vllm"); // llama.cpp derives no tool grammar from our template
    const request = {
      ...greedy, max_tokens: 200, messages: turns, tool_choice: { type: "function", function: { name: "get_weather" } },
      tools: [{ type: "function", function: { name: "get_weather", strict: true, parameters: weather } }],
    };
    const call = (await client.chat.completions.create(request)).choices[0].message.tool_calls[0];
    equal(call.function.name, "get_weather", "function");
    ok(["celsius", "fahrenheit"].includes(JSON.parse(call.function.arguments).unit), call.function.arguments);
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      for (const part of chunk.choices[0]?.delta.tool_calls ?? []) streamed += part.function.arguments ?? "";
    }
    equal(JSON.parse(streamed), JSON.parse(call.function.arguments), "streamed arguments");
  },
  async "log probabilities are returned"() {
    need("vllm", "llama");
    const request = { ...greedy, max_tokens: 5, messages: turns, logprobs: true, top_logprobs: 2 };
    const [choice] = (await client.chat.completions.create(request)).choices;
    equal(choice.logprobs.content.map((token) => token.token).join(""), choice.message.content, "tokens");
  },
  async "structured output follows the schema"() {
    need("vllm", "llama");
    const shape = { type: "json_schema", json_schema: { name: "forecast", strict: true, schema: forecast } };
    const answer = await client.chat.completions.create({ ...greedy, max_tokens: 60, messages: turns, response_format: shape });
    equal(typeof JSON.parse(answer.choices[0].message.content).warm, "boolean", "type of warm");
  },
  async "responses api streams the whole answer"() {
    need("vllm", "llama");
    const request = { model: MODEL, input: "A bridge", temperature: 0, max_output_tokens: 12 };
    const whole = await client.responses.create(request);
    let text = "";
    let last;
    for await (const event of await client.responses.create({ ...request, stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event.type;
    }
    equal(text, whole.output_text, "text");
    equal(last, "response.completed", "last event");
  },
  async "eight streams at once keep apart"() {
    const one = async (number) =>
      (await joined(await client.chat.completions.create({
        ...greedy, stream: true, messages: [{ role: "user", content: `Tell me about number ${number}.` }],
      })))[0];
    const numbers = [...Array(8).keys()];
    const together = await Promise.all(numbers.map(one));
    for (const number of numbers) equal(together[number], await one(number), `text ${number}`);
  },
  async "unknown model is not found"() {
    if (ENGINE === "llama" && !ROUTES) throw new Skip("llama.cpp answers for any model name");
    await refused(OpenAI.NotFoundError, () =>
      client.chat.completions.create({ ...greedy, messages: turns, model: "no-such-model" }));
  },
  async "too long a prompt is a bad request"() {
    need("vllm", "llama");
    await refused(OpenAI.BadRequestError, () => client.chat.completions.create({ ...greedy, messages: tooLong }));
    await refused(OpenAI.BadRequestError, () =>
      client.chat.completions.create({ ...greedy, messages: tooLong, stream: true }));
  },
  async "embeddings fail as they do directly"() {
    need("vllm", "llama");
    const direct = new OpenAI({ baseURL: DIRECT[0] + "/v1", apiKey: "none", maxRetries: 0 });
    const kinds = [];
    for (const side of [direct, client]) {
      await side.embeddings.create({ model: MODEL, input: "A bridge" })
        .catch((error) => kinds.push(`${error.constructor.name} ${error.status}`));
    }
    equal(kinds.length, 2, "number of refusals");
    equal(kinds[1], kinds[0], "exception");
    return kinds[0];
  },
  async "leaving a stream stops the engine"() {
    await waitRunning((count) => count === 0, "idle engine");
    const before = await metric([generatedName]);
    const stream = await client.chat.completions.create({ ...long, stream: true });
    let seen = 0;
    for await (const _ of stream) {
      seen += 1;
      if (seen === 4) break; // leaving the loop aborts the request
    }
    const took = await waitRunning((count) => count === 0, "engine stops after the client left");
    ok((await metric([generatedName])) - before < long.max_tokens, "the engine generated the whole answer");
    return `running count back to 0 after ${took.toFixed(0)} ms`;
  },
  async "leaving before the first byte stops the engine"() {
    await waitRunning((count) => count === 0, "idle engine");
    const before = await metric([generatedName]);
    const controller = new AbortController();
    const request = client.chat.completions.create(long, { signal: controller.signal });
    const outcome = request.then(() => "answered", (error) => error.constructor.name);
    await waitRunning((count) => count > 0, "request reaches the engine");
    controller.abort();
    const took = await waitRunning((count) => count === 0, "engine stops after the client left");
    equal(await outcome, "APIUserAbortError", "outcome");
    ok((await metric([generatedName])) - before < long.max_tokens, "the engine generated the whole answer");
    return `running count back to 0 after ${took.toFixed(0)} ms`;
  },
};

let [passed, failed, skipped] = [0, 0, 0];
console.log(`# node-sdk-${ENGINE}: ${GATEWAY} (${MODEL}; engine at ${DIRECT.join(", ")})`);
for (const [title, check] of Object.entries(checks)) {
  const begun = performance.now();
  try {
    const note = await check();
    passed += 1;
    console.log(`ok   ${title} (${((performance.now() - begun) / 1000).toFixed(2)} s)${note ? `: ${note}` : ""}`);
  } catch (error) {
    if (error instanceof Skip) {
      skipped += 1;
      console.log(`skip ${title}: ${error.message}`);
    } else {
      failed += 1;
      console.log(`FAIL ${title}\n${error.stack}`);
    }
  }
}
console.log(`node-sdk-${ENGINE}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed ? 1 : 0);
