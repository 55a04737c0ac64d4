// Package runeset has the sets of characters that the tokenizers library asks for
// outside of regular expressions, as measured in it. Its functions are pure.
package runeset
