// Command keying proves, against a real engine, that the gateway makes of a request the
// prompt that the engine makes of it.
//
// It reshapes requests of a text trace as chats with tools, calls with their results,
// content parts and template switches, and for each one compares our ids with those of
// the engine's /tokenize and of its render endpoint, and our count with the
// usage.prompt_tokens of an answer that went through the gateway.
//
//	keying --engine URL --gateway URL --model NAME --folder DIR --trace FILE [--requests 200]
//
// It prints "keying-MODEL: N passed, M failed" and exits 1 when any failed.
package main
