package stages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

// WordFile returns the regular file in dir that a word of a program's arguments names: the word
// itself, or FILE of FILE:NAME, as in python -m rollmill reward.py:brevity. It returns the word
// if there is none. Identities hold the content of these files.
func WordFile(dir, word string) string {
	if colon := strings.LastIndexByte(word, ':'); colon > 0 && !isFile(dir, word) && isFile(dir, word[:colon]) {
		return word[:colon]
	}
	return word
}

func isFile(dir, name string) bool {
	if dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// DigestWords returns the content digest of every file among a program's words:
// the program itself, found as a shell in dir would find it, and each word that
// names a regular file, as FILE or FILE:NAME. Of a Python file, and of a module after
// -m, it has the local files that they import, too. What a program finds otherwise, and
// the content of folders, is covered by --depends-on.
func DigestWords(ctx context.Context, dir string, words []string) (map[string]string, error) {
	out := map[string]string{}
	for i, word := range words {
		word = WordFile(dir, word)
		name := word
		if dir != "" && !strings.HasPrefix(word, string(os.PathSeparator)) {
			name = dir + string(os.PathSeparator) + word
		}
		if i == 0 && !strings.ContainsRune(word, os.PathSeparator) {
			found, err := exec.LookPath(word)
			if err != nil && !errors.Is(err, exec.ErrDot) {
				return nil, fmt.Errorf("program %q: not found on the PATH", word)
			}
			name = found
		}
		info, err := os.Stat(name)
		switch {
		case i == 0 && err != nil:
			return nil, fmt.Errorf("program %q: %w", word, cause(err))
		case i == 0 && !info.Mode().IsRegular():
			return nil, fmt.Errorf("program %q is not a file", word)
		}
		if module := i > 0 && words[i-1] == "-m"; module || strings.HasSuffix(word, ".py") && isFile(dir, word) {
			for word, name := range localImports(dir, words[0], word, module) {
				if out[word], err = regular.Digest(ctx, name); err != nil {
					return nil, reading(name, err)
				}
			}
		}
		if info == nil || !info.Mode().IsRegular() {
			continue
		}
		digest, err := regular.Digest(ctx, name)
		switch {
		case err == nil:
			out[word] = digest
		case i == 0 || !errors.Is(err, regular.ErrNot): // other words need not be files
			return nil, reading(name, err)
		}
	}
	return out, nil
}

// DigestFiles returns the content digest of every file, by the name it was given. Each
// has to be a regular file.
func DigestFiles(ctx context.Context, names []string) (_ map[string]string, err error) {
	out := map[string]string{}
	for _, name := range names {
		if out[name], err = regular.Digest(ctx, name); err != nil {
			return nil, reading(name, err)
		}
	}
	return out, nil
}

// CheckFiles returns the error of the first file that DigestFiles could not read.
func CheckFiles(names []string) error {
	for _, name := range names {
		f, err := regular.Open(name)
		if err != nil {
			return reading(name, err)
		}
		f.Close()
	}
	return nil
}

func reading(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Invalid(name, "a path is relative to the current folder", fs.ErrNotExist, "there is no such file")
	}
	return fmt.Errorf("reading %q: %w", name, cause(err))
}

// cause removes the path that an os error repeats.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
