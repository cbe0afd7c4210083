package plugin

// Adopt gives a setting of s the texts of a record, unless the user gave it or
// the texts are empty. A text that the setting refuses is ignored: the record
// is older, or from another program.
func Adopt(s Settings, given func(name string) bool, name string, texts ...string) {
	if given(name) || len(texts) == 0 || texts[0] == "" {
		return
	}
	for _, x := range Declared(s) {
		if x.Name == name {
			_ = x.Set(texts...) // if refused, the setting keeps its value
		}
	}
}
