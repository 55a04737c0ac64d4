package configs

// Keys reports whether prompts are keyed at all: by the tokenizer of path, by
// their text, or by the engines.
func (t *Tokenizer) Keys() bool {
	return t.Path != "" || t.Text == SwitchOn || t.Remote == RemoteAlways
}

// TextKeys reports whether prompts without keys over tokens get keys over text.
func (t *Tokenizer) TextKeys() bool {
	return t.Text == SwitchOn || t.Text == SwitchAuto && t.Keys()
}

// RemoteKeys reports whether engines may be asked for tokens.
func (t *Tokenizer) RemoteKeys() bool { return t.Keys() && t.Remote != RemoteOff }

// SameModel reports whether what was loaded from files under one setting serves
// the other.
func (t *Tokenizer) SameModel(o *Tokenizer) bool {
	return t.Path == o.Path && t.Unicode == o.Unicode
}

func (t *Tokenizer) check(f *findings, path string) {
	if t.Unicode == 15 { // the rule refuses the rest
		f.errorf(path+".unicode", "15 is not 14 or 16: no version of the tokenizers library has it")
	}
	if t.Remote == RemoteAlways && t.Budget > 0 && t.Budget < t.RemoteTimeout {
		f.warnf(path+".budget", "%s is all that a prompt waits for an engine, whatever remote_timeout %s says", t.Budget, t.RemoteTimeout)
	}
	if t.Path != "" {
		return
	}
	idle := func(set bool, key string) {
		if set {
			f.warnf(path+"."+key, "has no effect without a path")
		}
	}
	d := DefaultTokenizer()
	idle(t.Unicode != d.Unicode, "unicode")
	idle(t.ChatTemplate != "", "chat_template")
	idle(t.TemplateKwargs != "", "default_template_kwargs")
	idle(t.Parity != d.Parity, "parity")
	if !t.Keys() {
		idle(t.Remote != d.Remote && t.Remote != RemoteOff, "remote")
		idle(t.BlockSize != d.BlockSize, "block_size")
	}
}
