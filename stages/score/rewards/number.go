package rewards

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
)

// Numbers in a text, as plainNumber writes them: 1,234.5, -2e3, 1.5×10^3, 3/4 and
// 2 1/2. Other digits are found too, and are no number.
const (
	decimalForm  = `((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)`
	exponentForm = `(?:[eE]([-+]?\d{1,3})|\s?[×x·*]\s?10\s?\^\s?\{?\s?([-+]?\d{1,3})(?:\s?\}|\b))?`
)

var numberForm = regexp.MustCompile(`[-+]?(?:(\d+) (\d+)/(\d+)|` + decimalForm + `\s?/\s?([-+]?` + decimalForm + `)|` +
	decimalForm + exponentForm + `|\pN+)`)

// What may stand before and after a number that is meant alone. By anything else,
// such as an operator, a root or a variable, it is a part of something.
var (
	mayPrecede = regexp.MustCompile(`(?:(?:^|\n)[\s>#|]*(?:\(?\w{1,2}[.)]\s+)?|\pL{2,}(?:[.,:;!?"'*_]*\s+|:)|[=≈→]["'*_]*\s*|[.?!:]["'*_]*\s+|` +
		`[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}，。：])(?:[(\[{]\s*|["'“‘*_` + "`" + `#])*$`)
	mayNotPrecede = regexp.MustCompile(`(?i)(?:\\[a-z]+|[!<>]=|\d\s+:|\b(?:minus|negative|plus|times|not|than|least|most|between|sqrt|log|ln|sin|cos|` +
		`tan|exp|[a-z]+n't)|(?:root|half|third|quarter|percent|%) of|\d\s*%?\s*(?:and|or|to|(?:out )?of|in|over|per|by|mod|from|through|` +
		`divided by|vs\.?|versus))[\s({\[]*$`)
	mayFollow = regexp.MustCompile(`^(?:st\b|nd\b|rd\b|th\b|\s?°[CF]?|\s?(?:[mgshlLVWNJACF]|[ckdmµμ]m|[kmµμ][gsLlWVJN]|Hz|Pa|ft|in|lb|oz|mi)\b|` +
		`-\pL{3,}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}])?(?:/(?:\pL{2,}|[hs]\b))?[)\]}"'”’*_` + "`" + `]*` +
		`(?:$|\n|[.,;:?…，。；：？]+(?:$|[^\pL\pN])|\s+(?:$|\pL{2,}|[=≈→—"'“.,;:?)\]}]|\(\pL{2,}|\|(?:\s|$)))`)
	mayNotFollow = regexp.MustCompile(`(?i)^[\s*)}\]-]*(?:sqrt|pi\b|squared|cubed|factorial|k\b|bn\b|mn\b|mil\b|mio\b|lakh|crore|[万亿億萬千百]|` +
		`and\s+(?:a|one|two|three)\b|point\b|plus\b|minus\b|times\s+\pL|divided|over\b|or\b|to the\b|(?:out )?of\b|\.\.|…)`)

	percentForm = regexp.MustCompile(`(?i)^\s*(?:%|per ?cent\b|pct\b)`)
	unitForm    = regexp.MustCompile(`^\s?(°[CF]|[\pLµ]+(?:/\pL+)?)`)
	scaleForm   = regexp.MustCompile(`(?i)^[\s-]*(dozen|hundred|thousand|million|billion|trillion)s?\b`)
	scales      = map[string]int64{"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
)

// units has for each spelling of a unit the first spelling of its line.
var units = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(`km kilometer kilometers kilometre kilometres
m meter meters metre metres
cm centimeter centimeters centimetre centimetres
mm millimeter millimeters millimetre millimetres
ft foot feet
inch inches
mi mile miles
kg kilogram kilograms
g gram grams
mg milligram milligrams
lb lbs
oz ounce ounces
L l liter liters litre litres
mL ml milliliter milliliters millilitre millilitres
h hr hrs hour hours
min mins minute minutes
s sec secs second seconds
ms millisecond milliseconds
day days
week weeks
month months
year years
euro euros
dollar dollars
cent cents
°C
°F`) {
		names := strings.Fields(line)
		for _, name := range names {
			all[name] = names[0]
		}
	}
	return all
}()

// A quantity is a number, and its unit in the spelling of units: empty without one,
// and for a unit that units does not have.
type quantity struct {
	*big.Rat
	unit string
}

// unitOf returns the unit at the beginning of a text.
func unitOf(text string) string {
	m := unitForm.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	of, per, divided := strings.Cut(m[1], "/")
	if of = units[of]; of == "" || divided && units[per] == "" {
		return ""
	}
	return of + "/" + units[per]
}

// numbersIn returns the numbers in a text, without a number for digits that are not one alone.
func numbersIn(text string) (all []quantity) {
	text = plainNumbers(text)
	for _, at := range numberForm.FindAllStringSubmatchIndex(text, -1) {
		before, after := text[:at[0]], text[at[1]:]
		n := parseNumber(text, at)
		signed := strings.ContainsRune("+-", rune(text[at[0]]))
		if n == nil || !mayPrecede.MatchString(before) || mayNotPrecede.MatchString(before) {
			all = append(all, quantity{})
			continue
		}
		if signed && text[at[0]] == '-' {
			n.Neg(n)
		}
		if m := scaleForm.FindStringSubmatch(after); m != nil {
			n.Mul(n, big.NewRat(scales[strings.ToLower(m[1])], 1))
			after = after[len(m[0]):]
		}
		if m := percentForm.FindString(after); m != "" {
			n.Mul(n, big.NewRat(1, 100))
			after = after[len(m):]
		}
		if !mayFollow.MatchString(after) || mayNotFollow.MatchString(after) {
			n = nil
		}
		all = append(all, quantity{n, unitOf(after)})
	}
	return all
}

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
		"½", "1/2", "⅓", "1/3", "⅔", "2/3", "¼", "1/4", "¾", "3/4", "⅕", "1/5", "⅖", "2/5", "⅗", "3/5", "⅘", "4/5", "⅙", "1/6", "⅚", "5/6",
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

// boxed returns what is in each \boxed{...}, with its braces.
func boxed(text string) (all []string) {
	for {
		_, rest, has := strings.Cut(text, `\boxed`)
		if !has {
			return all
		}
		depth := 0
		end := strings.IndexFunc(rest, func(r rune) bool {
			depth += strings.Count(string(r), "{") - strings.Count(string(r), "}")
			return depth == 0
		})
		if end < 0 {
			return append(all, "") // cut off
		}
		all, text = append(all, rest[:end+1]), rest[end:]
	}
}
