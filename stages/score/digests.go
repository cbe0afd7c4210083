package score

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages"
)

// digestFiles returns the content digest of every file, by the name it was
// given.
func digestFiles(ctx context.Context, names []string) (map[string]string, error) {
	out, err := stages.DigestFiles(ctx, names)
	if err != nil && ctx.Err() == nil {
		return nil, usage("the file's content decides the values", "%w", err)
	}
	return out, err
}

// digestWords is stages.DigestWords of a reward's program. A path among the words
// that cannot be looked at may name a file.
func digestWords(ctx context.Context, words []string) (map[string]string, error) {
	const hint = "is it built, executable and on the PATH?"
	for _, word := range words {
		_, err := os.Stat(word)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && strings.ContainsRune(word, os.PathSeparator) {
			return nil, usage(hint, "program %q: cannot be read", word)
		}
	}
	out, err := stages.DigestWords(ctx, "", words)
	if err != nil {
		return nil, usage(hint, "%w", err)
	}
	return out, nil
}

func quotedNames[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(m))
	more := ""
	if len(names) > 12 {
		names, more = names[:12], ", ..."
	}
	return `"` + strings.Join(names, `", "`) + `"` + more
}
