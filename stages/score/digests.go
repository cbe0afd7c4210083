package score

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages"
)

// digestFiles returns the content digest of every file, by the name it was
// given.
func digestFiles(names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		digest, err := digestFile(name)
		if err != nil {
			return nil, usage("the file's content decides the values", "reading %q: %w", name, err)
		}
		out[name] = digest
	}
	return out, nil
}

func digestFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestWords returns the content digest of every file among a program's words:
// the program itself, found as the shell would, and each word that names a
// regular file, as FILE or FILE:NAME. Folders do not count; list their content with --depends-on.
func digestWords(words []string) (map[string]string, error) {
	out := map[string]string{}
	for i, word := range words {
		word = stages.WordFile("", word)
		name := word
		if i == 0 {
			if found, err := exec.LookPath(word); err == nil || errors.Is(err, exec.ErrDot) {
				name = found
			}
		}
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			if i == 0 || err != nil && !errors.Is(err, fs.ErrNotExist) && strings.ContainsRune(word, os.PathSeparator) {
				return nil, usage("is it built, executable and on the PATH?", "program %q: cannot be read", word)
			}
			continue
		}
		if out[word], err = digestFile(name); err != nil {
			return nil, usage("", "program %q: %w", word, err)
		}
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
