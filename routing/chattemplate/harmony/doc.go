// Package harmony writes conversations in the format of gpt-oss, token for token as
// vLLM 0.32 makes them with the oss-harmony library 0.0.11: headers, channels, the
// system and developer messages, and tools as TypeScript.
//
// It knows nothing about APIs: what a request means in these messages is the
// caller's. It is pure, and starts no goroutine.
package harmony
