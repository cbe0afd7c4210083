package score

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

// digestFiles returns the content digest of every file, by the name it was
// given. Those at URIs are read by open.
func digestFiles(ctx context.Context, names []string, open func(context.Context, string) (File, error)) (map[string]string, error) {
	stored := func(name string) bool { return open != nil && strings.Contains(name, "://") }
	out, err := stages.DigestFiles(ctx, slices.DeleteFunc(slices.Clone(names), stored))
	for _, name := range names {
		if err == nil && stored(name) {
			out[name], err = digestStored(ctx, name, open)
		}
	}
	if err != nil && ctx.Err() == nil {
		return nil, usage(cmp.Or(fault.HintOf(err), "the file's content decides the values"), "%w", err)
	}
	return out, err
}

func digestStored(ctx context.Context, uri string, open func(context.Context, string) (File, error)) (string, error) {
	f, err := open(ctx, uri)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", uri, err)
	}
	defer f.Close() // read only
	sum := sha256.New()
	_, err = io.Copy(sum, regular.Reader(ctx, io.NewSectionReader(f, 0, f.Size())))
	return hex.EncodeToString(sum.Sum(nil)), err
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
