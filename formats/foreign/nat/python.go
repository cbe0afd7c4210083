package nat

import (
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
	p.value(0)
	p.space()
	return p.out, !p.bad && p.at == len(text) && jsontext.Valid(p.out)
}

type printer struct {
	text string
	at   int
	out  []byte
	bad  bool
}

func (p *printer) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\n') {
		p.at++
	}
}

// next returns the next byte that is no space, 0 at the end.
func (p *printer) next() byte {
	if p.space(); p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *printer) value(depth int) {
	const deepest = 100
	if depth > deepest {
		p.bad = true
		return
	}
	switch c := p.next(); {
	case c == '[' || c == '(':
		p.list(map[byte]byte{'[': ']', '(': ')'}[c], '[', ']', func() { p.value(depth + 1) })
	case c == '{':
		p.list('}', '{', '}', func() {
			if q := p.next(); q != '\'' && q != '"' {
				p.bad = true
				return
			}
			p.quoted()
			if p.next() != ':' {
				p.bad = true
				return
			}
			p.at++
			p.out = append(p.out, ':')
			p.value(depth + 1)
		})
	case c == '\'' || c == '"':
		p.quoted()
	default:
		p.word()
	}
}

// list reads elements up to a closing byte.
func (p *printer) list(closing, begin, end byte, element func()) {
	p.at++
	p.out = append(p.out, begin)
	for n := 0; !p.bad; n++ {
		if p.next() == closing {
			p.at++
			p.out = append(p.out, end)
			return
		}
		if n > 0 {
			if p.next() != ',' {
				break
			}
			if p.at++; p.next() == closing { // (1,)
				continue
			}
			p.out = append(p.out, ',')
		}
		element()
	}
	p.bad = true
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
