package plugin

// Adopt gives a setting of s the texts that a record holds, unless it was given
// or the texts are empty. A text that the setting refuses is left out: the record
// is older, or of another program.
func Adopt(s Settings, given func(name string) bool, name string, texts ...string) {
	if given(name) || len(texts) == 0 || texts[0] == "" {
		return
	}
	for _, x := range Declared(s) {
		if x.Name == name {
			_ = x.Set(texts...) // refused: as it was
		}
	}
}
