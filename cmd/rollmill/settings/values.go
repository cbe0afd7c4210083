package settings

import "strings"

// Joined returns the values of a closed set, separated by commas.
func Joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
