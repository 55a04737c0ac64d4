// Counts cut answers that the Node openai SDK takes for whole ones; the options and the
// JSON it prints are those of sdk_truncation.py. OPENAI_MODULES as in sdk_suite.mjs.

import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs } from "node:util";

const require = createRequire(path.join(process.env.OPENAI_MODULES ?? process.cwd(), "package.json"));
const OpenAI = require("openai").default;
const { VERSION } = require("openai/version");

const CONTROL_TRIES = 20;
const { values: args } = parseArgs({
  options: {
    base: { type: "string" },
    control: { type: "string" },
    model: { type: "string", default: "tiny" },
    runs: { type: "string", default: "100" },
    parallel: { type: "string", default: "8" },
    "max-tokens": { type: "string", default: "200" },
    timeout: { type: "string", default: "60" },
    prompt: { type: "string", default: "Tell me a story about a river." },
    expect: { type: "string" },
  },
});
if (!args.base) {
  console.error("usage: sdk_truncation.mjs --base URL [options of sdk_truncation.py]");
  process.exit(2);
}

function newClient(base) {
  const baseURL = base.replace(/\/$/, "") + "/v1";
  return new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: Number(args.timeout) * 1000 });
}

async function ask(client, stream) {
  const request = {
    model: args.model, temperature: 0, max_tokens: Number(args["max-tokens"]),
    messages: [{ role: "user", content: args.prompt }],
  };
  if (!stream) {
    const [choice] = (await client.chat.completions.create(request)).choices;
    return [choice.message.content ?? "", choice.finish_reason];
  }
  let [text, reason] = ["", null];
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    for (const choice of chunk.choices) {
      text += choice.delta.content ?? "";
      reason = choice.finish_reason ?? reason;
    }
  }
  return [text, reason];
}

// The text that two answers agree on: one of them alone might itself be cut.
async function knownText() {
  if (args.expect !== undefined) return args.expect;
  const client = newClient(args.control ?? args.base);
  const votes = new Map();
  for (let attempt = 0; attempt < CONTROL_TRIES; attempt++) {
    try {
      const [text, reason] = await ask(client, attempt % 2 === 1);
      if (reason !== "stop" && reason !== "length") continue;
      votes.set(text, (votes.get(text) ?? 0) + 1);
      if (votes.get(text) === 2) return text;
    } catch {
      // A failed control run votes for nothing.
    }
  }
  console.error(`cannot learn the whole text: no two of ${CONTROL_TRIES} answers agree`);
  process.exit(1);
}

const want = await knownText();
const runs = Number(args.runs);
const client = newClient(args.base);
const report = {
  sdk: `openai-node ${VERSION}`, runs, complete: 0, errors: 0, truncated_as_complete: 0, without_finish_reason: 0,
  error_kinds: {}, examples: [],
};
let next = 0;

async function worker() {
  while (next < runs) {
    const stream = next++ % 2 === 0;
    let text, reason;
    try {
      [text, reason] = await ask(client, stream);
    } catch (error) {
      report.errors += 1;
      report.error_kinds[error.constructor.name] = (report.error_kinds[error.constructor.name] ?? 0) + 1;
      continue;
    }
    report.complete += 1;
    if (reason === null) report.without_finish_reason += 1;
    if (text === want) continue;
    report.truncated_as_complete += 1;
    if (report.examples.length < 3) {
      report.examples.push({ stream, finish_reason: reason, got: text.length, want: want.length });
    }
  }
}

await Promise.all(Array.from({ length: Number(args.parallel) }, worker));
console.log(JSON.stringify(report));
process.exit(report.truncated_as_complete ? 1 : 0);
