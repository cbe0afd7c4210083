package rewards

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// sameNumber compares two numbers. A reference that is not one number is an error.
// An answer's number is in its last \boxed{}, or is the last in the text; digits
// there that are not a number alone, as in 2\sqrt{3}, match nothing, and neither does
// a number of another unit, as 5 g for 5 kg.
func (s *MatchSettings) sameNumber(answer, reference string) (bool, error) {
	want, err := referenceNumber(reference)
	if err != nil {
		return false, err
	}
	var got quantity
	if in := boxed(answer); len(in) > 0 {
		got = only(numbersIn(in[len(in)-1]))
	} else if all := numbersIn(numberTail(answer)); len(all) > 0 {
		got = all[len(all)-1]
	}
	if got.Rat == nil || got.unit != "" && want.unit != "" && got.unit != want.unit {
		return false, nil
	}
	allowed, _ := new(big.Rat).SetString(strconv.FormatFloat(s.Tolerance.n, 'g', -1, 64))
	size := new(big.Rat).Abs(want.Rat)
	if s.Tolerance.relative || s.Tolerance.initial && size.Cmp(big.NewRat(1, 1)) < 0 {
		allowed.Mul(allowed, size)
	}
	off := new(big.Rat).Sub(got.Rat, want.Rat)
	return off.Abs(off).Cmp(allowed) <= 0, nil
}

// referenceNumber returns the one number of a reference: in \boxed{}, after ####, or
// in the whole text.
func referenceNumber(text string) (quantity, error) {
	parts := append(boxed(text), strings.Split(text, "####")[1:]...)
	if len(parts) == 0 {
		parts = []string{text}
	}
	all := numbersIn(parts[0])
	switch n := only(all); {
	case len(parts) == 1 && n.Rat != nil:
		return n, nil
	case len(all) == 0:
		return quantity{}, fmt.Errorf("there is no number in the reference %q", text)
	}
	return quantity{}, fmt.Errorf("the reference %q is not one number; give one alone, with its unit, after #### or in \\boxed{}", text)
}

func only(all []quantity) quantity {
	if len(all) != 1 {
		return quantity{}
	}
	return all[0]
}

// numberTail returns the end of a text, with enough before its last digit to read it.
func numberTail(text string) string {
	const enough = 400
	from := strings.LastIndexFunc(text, unicode.IsNumber) - enough
	if from <= 0 {
		return text
	}
	// No number begins where the text was cut: nothing may precede it there.
	return "\x00" + strings.ToValidUTF8(text[from:min(len(text), from+2*enough)], "")
}
