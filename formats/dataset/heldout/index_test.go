package heldout

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func newIndex(n int, texts ...string) *index {
	x := &index{n: n, seen: map[xxh3.Uint128]bool{}}
	for i, t := range texts {
		x.add(text{"field", t, int64(i), 0})
	}
	x.build()
	return x
}

func forms(t string) (out []string) {
	for _, w := range split(nil, t, len(t)) {
		out = append(out, w.form)
	}
	return out
}

// TestWords checks what a word is, in scripts with and without spaces, and what is the same word.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Don't DON’T dont":             "dont dont dont",
		"1,000 1000 3.14 x_1":          "1000 1000 314 x1",
		"well-known, (e.g.) a+b=c":     "well known eg a b c",
		"STRASSE straße ΣΑΣ σας":       "strasse strasse σασ σασ",
		"caf\u00e9 cafe\u0301 ＡＢ１ ﬁne": "café café ab1 fine",
		"co\u00adoperate a\u200bb":     "cooperate a b",
		"漢字かな カタカナ":                    "漢 字 か な カタカナ",
		"สวัสดี":                       "ส วั ส ดี",
		"안녕하세요 세계":                     "안녕하세요 세계",
		"नमस्ते दुनिया":                "नमस्ते दुनिया",
		"❤️ 👍🏽 -- … \n\t":              "",
		"\xff\xfea\xffb":               "a b",
		"http://a.example/b?c=d":       "http aexample b c d",
		"\u0301 \ufe0f":                "",
		"x\u0000y":                     "x y",
	} {
		if diff := cmp.Diff(want, strings.Join(forms(text), " ")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// FuzzWords checks the places of words: they are in order, and from each on the text has the same words as from its start.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"Don’t 3.14", "漢字か\u3099な", "🇩🇪🇫🇷 a", "a\u200db\u00ad", "\xff", "x\r\ny", "א\"ב ג'", "1.a.2,b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, end := split(nil, text, len(text)), 0
		for i, w := range words {
			if w.start < end || w.end <= w.start || w.end > len(text) || w.form != form(text[w.start:w.end]) {
				t.Fatalf("%q: word %d is %+v, after %d", text, i, w, end)
			}
			end = w.end
			again := split(nil, text[w.start:], 2)
			if again[0].form != w.form || len(again) > 1 != (i+1 < len(words)) || len(again) > 1 && again[1].form != words[i+1].form {
				t.Fatalf("%q: from word %d on: %+v, not %+v", text, i, again, words[i:])
			}
			if form(w.form) != w.form && !strings.ContainsRune(w.form, '\u0345') {
				t.Fatalf("%q: the form of %q is %q", text, w.form, form(w.form))
			}
		}
	})
}

// TestPlanted compares with a plain search, of words joined by blanks: every planted run is found and no other, also in
// texts of few words in many ways, and none with a word changed in each run.
func TestPlanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		word := rapid.SampledFrom(strings.Split("a b c d Ä ä 1 漢", " ")[:rapid.IntRange(1, 8).Draw(t, "vocabulary")])
		words := rapid.SliceOfN(word, 0, 14)
		sep := rapid.SampledFrom([]string{" ", ", ", "\n", " -- "})
		var held []string
		for range rapid.IntRange(0, 5).Draw(t, "texts") {
			held = append(held, strings.Join(words.Draw(t, "held"), sep.Draw(t, "sep")))
		}
		x := newIndex(n, held...)
		text := strings.Join(words.Draw(t, "text"), sep.Draw(t, "sep"))
		want := ""
		for i, f := 0, forms(text); i+n <= len(f) && want == ""; i++ {
			run := strings.Join(f[i:i+n], " ")
			if slices.ContainsFunc(held, func(h string) bool {
				return strings.Contains(" "+strings.Join(forms(h), " ")+" ", " "+run+" ")
			}) {
				want = run
			}
		}
		got := ""
		if hit := x.hit("f", text); hit != nil {
			got = hit.Words
			in := hit.HeldText[strings.Index(hit.HeldText, "[")+1 : strings.Index(hit.HeldText, "]")]
			if strings.Join(forms(in), " ") != got {
				t.Fatalf("shows %q for %q", hit.HeldText, got)
			}
		}
		if got != want {
			t.Fatalf("found %q, not %q, of %q in %q", got, want, text, held)
		}
	})
}

// TestMutated checks that one other word in each run of n words hides a text, and that one word less of it does not.
func TestMutated(t *testing.T) {
	words := strings.Fields(sentence(1, 200))
	x := newIndex(13, strings.Join(words, " "))
	for first := range 13 {
		other := slices.Clone(words)
		for i := first; i < len(other); i += 13 {
			other[i] = "other"
		}
		if hit := x.hit("f", strings.Join(other, " ")); hit != nil {
			t.Errorf("each 13th word from %d: %s", first, hit)
		}
		other[first+13] = words[first+13]
		if hit := x.hit("f", strings.Join(other, " ")); hit == nil {
			t.Errorf("all but one from %d: nothing", first)
		}
	}
}

// TestBounds checks texts of n words, and of one less.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		held, text int
		found      bool
	}{{13, 13, true}, {12, 200, false}, {200, 12, false}, {200, 13, true}, {13, 200, true}, {12, 12, false}, {0, 13, false}, {13, 0, false}} {
		x := newIndex(13, sentence(1, c.held))
		if hit := x.hit("f", strings.ToUpper(sentence(1, c.text))); (hit != nil) != c.found {
			t.Errorf("%+v: %v", c, hit)
		}
	}
}

// TestEqualHashes checks that the words decide where the hashes of runs are equal.
func TestEqualHashes(t *testing.T) {
	x := newIndex(2, "a b", "c d")
	other := split(nil, "e f", 2)
	for i, w := range split(nil, "a b", 2) {
		other[i].hash = w.hash
	}
	if s, _ := x.look(other); s.text != 0 {
		t.Errorf("%+v is found", other)
	}
}

// sentence returns words of a text that depends on the seed.
func sentence(seed, words int) string {
	var b strings.Builder
	state := uint64(seed)*0x9E3779B97F4A7C15 + 1
	for range words {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%s ", vocabulary[state>>40%uint64(len(vocabulary))])
	}
	return strings.TrimSpace(b.String())
}

var vocabulary = func() (out []string) {
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu ve wi xo ya zu")
	for _, a := range syllables {
		for _, b := range syllables {
			for _, c := range syllables {
				out = append(out, a+b+c)
			}
		}
	}
	return out
}()

// TestScale compares COUNT prompts of 200 words with COUNT/10 held-out ones, one in a hundred of which has 13 of their
// words, and limits the memory of the process: COUNT=1000000 in .ci/full.
func TestScale(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	count = max(count, 2000)
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as curate and audit do
	path := filepath.Join(t.TempDir(), "held.jsonl")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(out)
	for i := range count / 10 {
		fmt.Fprintf(w, "{\"id\":\"held-%d\",\"question\":%q}\n", i, sentence(i, 200))
	}
	if err := errors.Join(w.Flush(), out.Close()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s, err := Open(t.Context(), Options{URIs: []string{path}, Ngrams: 13, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	learnt, found := time.Since(began), 0
	for i := range count {
		text, planted := sentence(count+i, 200), i%100 == 7
		if planted {
			words, held := strings.Fields(text), strings.Fields(sentence(i/10, 200))
			text = strings.Join(slices.Concat(words[:i%187], held[i%188:i%188+13], words[i%187+13:]), " ")
		}
		row := asking(text)
		row.ExampleID = fmt.Sprint(i)
		if hit := s.Holds(row); (hit != nil) != planted || hit != nil && hit.HeldRow != int64(i/10) {
			t.Fatalf("row %d, planted %v: %v", i, planted, hit)
		} else if hit != nil {
			found++
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	var peak int64
	if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
		fmt.Sscan(after, &peak)
	}
	t.Logf("%d prompts, %d held out: %d found; learnt in %.1f s, all in %.1f s; peak memory %d MiB", count, count/10, found,
		learnt.Seconds(), time.Since(began).Seconds(), peak>>10)
	if peak > 1<<20 {
		t.Errorf("peak memory of %d MiB is more than 1 GiB", peak>>10)
	}
}
