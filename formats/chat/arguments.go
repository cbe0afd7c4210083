package chat

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// deepest is how deep arguments may be nested: readers in Python give up at a thousand.
const deepest = 500

// arguments returns the arguments of a tool call as a JSON object: none are an
// empty one, as engines have it.
func arguments(s string) (object json.RawMessage, reason string) {
	s = cmp.Or(s, "{}")
	if Object(s) == nil {
		return nil, BadArguments
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			return json.RawMessage(s), reason
		}
		switch v := token.(type) {
		case json.Delim:
			if depth++; v == '}' || v == ']' {
				depth -= 2
			}
		case json.Number:
			if !kept(string(v)) {
				reason = BadNumbers
			}
		case string:
			if strings.ContainsRune(v, utf8.RuneError) { // half of a surrogate pair
				return nil, BadArguments
			}
		}
		if err != nil || depth > deepest {
			return nil, BadArguments
		}
	}
}

// kept reports whether Hugging Face datasets returns a number as it is. It reads
// JSON, also in a JSON column of Parquet, with ujson, which makes
// 0.7000000000000001 of 0.7, and writes ten decimals.
func kept(number string) bool {
	if !strings.ContainsAny(number, ".eE") {
		_, err := strconv.ParseInt(number, 10, 64)
		_, wide := strconv.ParseUint(number, 10, 64)
		return err == nil || wide == nil
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(v) >= 1e15 || v == 0 && math.Signbit(v) {
		return false
	}
	again := strconv.FormatFloat(v, 'f', -1, 64)
	_, decimals, _ := strings.Cut(again, ".")
	return len(decimals) <= 10 && ujson(number) == v && ujson(again) == v
}

// ujson returns the number that ujson reads: the digits after the point are a
// number of their own, times a power of ten.
func ujson(number string) float64 {
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, decimals, _ := strings.Cut(mantissa, ".")
	decimals = decimals[:min(len(decimals), 15)]
	w, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return math.NaN() // it refuses the file
	}
	f, _ := strconv.ParseFloat("0"+decimals, 64)
	v := float64(w) + float64(f*math.Pow10(-len(decimals)))
	if e, _ := strconv.Atoi(strings.TrimPrefix(power, "+")); e < -22 || e > 22 {
		return math.NaN() // powers of ten are no longer exact
	} else if e != 0 {
		v *= math.Pow10(e)
	}
	if negative {
		return -v
	}
	return v
}
