package rewards

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
)

// parseNumber returns the number without its sign of one match of numberForm.
func parseNumber(text string, at []int) *big.Rat {
	group := func(i int) string {
		if at[2*i] < 0 || at[2*i+1]-at[2*i] > 400 {
			return ""
		}
		return strings.ReplaceAll(text[at[2*i]:at[2*i+1]], ",", "")
	}
	parse := func(text string) *big.Rat {
		n, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil
		}
		return n
	}
	exponent := group(8) + group(9)
	switch {
	case group(1) != "":
		if part := parse(group(2) + "/" + group(3)); part != nil && part.Cmp(big.NewRat(1, 1)) < 0 {
			return part.Add(part, parse(group(1)))
		}
	case group(4) != "":
		if over := parse(group(5)); over != nil && over.Sign() != 0 {
			return over.Quo(parse(group(4)), over)
		}
	case exponent != "":
		return parse(group(7) + "e" + exponent)
	case group(7) != "":
		return parse(group(7))
	}
	return nil
}

// Spellings of numbers, and the plain ones; in this order.
var spellings = []struct {
	form  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`(\d)(?:\{,\}|,?\\[,;:! ]|[\x{A0}\x{2007}\x{2009}\x{202F}'’٬~])(\d)`), "$1,$2"},
	{regexp.MustCompile(`\\(?:text|mathrm|mathbf|mbox|textbf|textrm|textit|boldsymbol|operatorname)\s*\{([^{}]*)\}`), " $1 "},
	{regexp.MustCompile(`\^\s*(?:\{\s*\\circ\s*\}|\\circ\b)|\\degree\b`), "°"},
	{regexp.MustCompile(`\b((?:[ckdm]?m|in|ft|yd|mi|s|units?|inch(?:es)?|feet|miles?|(?:centi|kilo)?met(?:er|re)s?)\s?)\^(?:\{\s?[23]\s?\}|[23]\b)`), "$1"},
	{regexp.MustCompile(`\\(?:approx|simeq)\b`), "≈"},
	{regexp.MustCompile(`\\(?:Rightarrow|implies|rightarrow|therefore|to)\b`), "→"},
	{regexp.MustCompile(`\\times\b`), "×"},
	{regexp.MustCompile(`\\cdot\b`), "·"},
	{regexp.MustCompile(`\\%`), "%"},
	{regexp.MustCompile(`([-+])\s*\\?[$€£¥₹]\s*([\d.])`), "$1$2"},
	{regexp.MustCompile(`\\(?:left|right|displaystyle|q?quad)\b|\\[,;:! ()\[\]$]|[~$€£¥₹\x{A0}\x{2007}\x{2009}\x{202F}\x{3000}]`), " "},
	{regexp.MustCompile(`(\d)\s*\\[dtc]?frac\b`), `$1 \frac`},
	{regexp.MustCompile(`\\[dtc]?frac\s*\{\s*([-+]?[\d,.]+)\s*\}\s*\{\s*([-+]?[\d,.]+)\s*\}`), "$1/$2"},
	{regexp.MustCompile(`\\[dtc]?frac\s*(\d)\s*(\d)`), "$1/$2"},
	{regexp.MustCompile(`((?:^|[=({\[])\s*[-+])[ \t]+([\d.])`), "$1$2"},
}

var (
	raisedForm = regexp.MustCompile(`[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+`)
	mixedForm  = regexp.MustCompile(`(\d)([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])`)
	signs      = strings.NewReplacer("−", "-", "‐", "-", "‑", "-", "‒", "-", "–", "-", "﹣", "-", "⁄", "/", "∕", "/", "⇒", "→",
		"∙", "·", "⋅", "·",
		"⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9",
		"½", "1/2", "⅓", "1/3", "⅔", "2/3", "¼", "1/4", "¾", "3/4", "⅕", "1/5", "⅖", "2/5", "⅗", "3/5", "⅘",
		"4/5", "⅙", "1/6", "⅚", "5/6",
		"⅛", "1/8", "⅜", "3/8", "⅝", "5/8", "⅞", "7/8")
)

// plainNumbers rewrites numbers of Unicode and LaTeX into those of numberForm.
func plainNumbers(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r): // marks of direction, spaces without width
			return -1
		case r >= '！' && r <= '～': // of full width
			return r - '！' + '!'
		}
		return r
	}, text)
	text = signs.Replace(mixedForm.ReplaceAllString(raisedForm.ReplaceAllString(text, "^$0"), "$1 $2"))
	for _, s := range spellings {
		text = s.form.ReplaceAllString(text, s.plain)
	}
	return text
}
