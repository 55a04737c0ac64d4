// The Node side of the oracle: the official native tokenizers, encoding every set of
// texts in plain mode, but for the sweeps. encode.mjs MODULES MODEL TEXTS OUT; formats as in encode.py.
import { createRequire } from 'node:module'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const [modules, model, texts, out] = process.argv.slice(2)
const { Tokenizer } = createRequire(join(modules, 'package.json'))('tokenizers')
const chunk = 256

function readTexts(path) {
  const data = readFileSync(path)
  const found = []
  for (let at = 0; at < data.length; ) {
    const size = data.readUInt32LE(at)
    found.push(data.toString('utf8', at + 4, at + 4 + size))
    at += 4 + size
  }
  return found
}

const tokenizer = Tokenizer.fromFile(join(model, 'tokenizer.json'))
tokenizer.disableTruncation()
mkdirSync(out, { recursive: true })
const sweeps = ['sweep.texts', 'contexts.texts']
for (const file of readdirSync(texts).filter((f) => f.endsWith('.texts') && !sweeps.includes(f)).sort()) {
  const all = readTexts(join(texts, file))
  const to = openSync(join(out, file.replace(/texts$/, 'node.plain')), 'w')
  for (let at = 0; at < all.length; at += chunk) {
    const encoded = await tokenizer.encodeBatch(all.slice(at, at + chunk), { addSpecialTokens: false })
    for (const e of encoded) {
      const ids = e.getIds()
      writeSync(to, Buffer.from(new Uint32Array([ids.length, ...ids]).buffer))
    }
  }
  closeSync(to)
}
