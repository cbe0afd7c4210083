package rewards

import (
	"math/big"
	"regexp"
	"strings"
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
	scaleForm   = regexp.MustCompile(`(?i)^[\s-]*(dozen|hundred|thousand|million|billion|trillion)s?\b`)
	scales      = map[string]int64{"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
)

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
