package nat

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// python converts a value that Python printed to JSON: dicts, lists, texts,
// numbers, True, False and None. It returns false for anything else.
func python(text string) ([]byte, bool) {
	p := printer{text: text}
	var open []byte // what closes the brackets that are open
	for p.at < len(text) && !p.bad {
		c := text[p.at]
		switch closes := brackets[c]; {
		case c == '\'' || c == '"':
			p.quoted()
		case closes != 0:
			open = append(open, closes)
			p.put(map[bool]byte{true: '{', false: '['}[c == '{'])
		case c == ']' || c == ')' || c == '}':
			n := len(open) - 1
			p.bad = n < 0 || open[n] != c
			open = open[:max(n, 0)]
			before, comma := bytes.CutSuffix(bytes.TrimRight(p.out, " "), []byte{','}) // (1,)
			p.out = bytes.TrimRight(before, " ")
			p.bad = p.bad || comma && (len(p.out) == 0 || brackets[p.out[len(p.out)-1]] != 0)
			p.put(map[bool]byte{true: '}', false: ']'}[c == '}'])
		case c == ' ' || c == '\n':
			p.put(' ')
		case c == ',' || c == ':':
			p.put(c)
		default:
			p.word()
		}
	}
	return []byte(jsontext.Compact(p.out)), !p.bad && jsontext.Valid(p.out)
}

var brackets = map[byte]byte{'[': ']', '(': ')', '{': '}'}

type printer struct {
	text string
	at   int
	out  []byte
	bad  bool
}

// put appends a byte for one of the text.
func (p *printer) put(c byte) {
	p.out = append(p.out, c)
	p.at++
}

func (p *printer) quoted() {
	quote := p.text[p.at]
	var b strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			p.out = append(p.out, importers.Quote(b.String())...)
			return
		case '\\':
			p.escape(&b)
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	p.bad = true
}

// lengths are those of the digits of escapes.
var lengths = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (p *printer) escape(b *strings.Builder) {
	if p.at += 2; p.at > len(p.text) {
		p.at, p.bad = len(p.text), true
		return
	}
	switch c := p.text[p.at-1]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\\', '\'', '"':
		b.WriteByte(c)
	case 'x', 'u', 'U':
		end := min(p.at+lengths[c], len(p.text))
		n, err := strconv.ParseUint(p.text[p.at:end], 16, 32)
		if err != nil || end-p.at != lengths[c] || !utf8.ValidRune(rune(n)) {
			p.bad = true
		}
		b.WriteRune(rune(n))
		p.at = end
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

var words = map[string]string{"True": "true", "False": "false", "None": "null", "nan": "null", "inf": "null",
	"-inf": "null"}

// word reads a number or a name.
func (p *printer) word() {
	begin := p.at
	for p.at < len(p.text) && !strings.ContainsRune(" \n,]})(:", rune(p.text[p.at])) {
		p.at++
	}
	word := p.text[begin:p.at]
	word = cmp.Or(words[word], word)
	p.bad = p.bad || word == "" || !jsontext.Valid([]byte(word))
	p.out = append(p.out, word...)
}
