// Package oracle compares our tokenizers with the official native ones.
//
// setup.sh installs the official tokenizers (Hugging Face tokenizers for Python and for
// Node, transformers, tiktoken, mistral-common) and the vocabularies under the cache,
// builds the texts (package corpus) and stores the official ids of each, once per
// model (command prepare). The tests here encode the same texts and want no
// difference. They skip, and say so, where setup.sh has not run. Command speed times
// both sides on the same documents.
package oracle
