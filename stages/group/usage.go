package group

import (
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// words lists the values of a closed set of texts.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

func usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, format, args...)
}
