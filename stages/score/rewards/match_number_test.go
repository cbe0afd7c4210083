package rewards_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func matchNumber(t *testing.T, reference any, answer string) score.Value {
	t.Helper()
	example, err := json.Marshal(map[string]any{"answer": reference})
	if err != nil {
		t.Fatal(err)
	}
	row := &score.Row{Trajectory: &formats.Trajectory{Example: string(example), Answer: answer}}
	return rewardtest.Score(t, rewardtest.New(t, rewards.Match, "number"), []*score.Row{row})[0]
}

func TestNumbersThatAreTheSame(t *testing.T) {
	for _, c := range []struct {
		reference any
		answers   []string
	}{
		{"1/2", []string{"It is 1/2.", "0.5", "½", `\boxed{\frac{1}{2}}`, `$\dfrac12$`, `\tfrac{1}{2}`, "50%", `50\%`, "50 percent", "1 / 2", "2/4", "so x = 1⁄2"}},
		{0.5, []string{"1/2", ".5", "5e-1", "5 × 10^{-1}", `5 \times 10^{-1}`, "5×10⁻¹", "0.50"}},
		{"1/3", []string{"0.333333", "0.3333333"}},
		{"1000", []string{`\boxed{1{,}000}`, `\boxed{1\,000}`, `1,\!000`, "1,000", "1\u202f000", "1\u00a0000", "1'000", "$1,000", `\$1{,}000.00`, "1e3", "1 thousand", "１０００", "10 hundred"}},
		{"1234567", []string{`1{,}234{,}567`, "1,234,567 people", "1234567.0"}},
		{"42", []string{`\boxed{42} (see eq. 3)`, "The answer is 42.", "**Answer:** 42", "Answer: **42**", "#### 42", "so\n42", "= 42", "$x = 42$.", "答案是42。",
			"42 apples, as 6 and 7 make 42.", `\boxed{x=42}`, `\boxed{42\text{ cm}^2}`, "it is 42 cm²", "42°", `\(42\)`, `\boxed{\text{42}}`, "Step 2: 42", "(42)", "1) 42",
			"x ≈ 42", "2 * 21 = 42", `\boxed{1} no: \boxed{42}`, "the 42nd", "42-inch", "42km", "€42", "+42", "It costs $42 (forty-two dollars)"}},
		{"-3", []string{"The change is −3.", "–3", "-3", "x = - 3", "$-3$", `\boxed{- 3}`, "it is ‑3", "－３", "\u200e-3"}},
		{"-1/3", []string{`-\frac{1}{3}`, `\frac{-1}{3}`, "−1/3"}},
		{"2 1/2", []string{"2.5", "5/2", "2½", `2\frac{1}{2}`, "-(2) no: 2 1/2"}},
		{"-$5", []string{"-5", "-$5.00", `-\$5`}},
		{"18 eggs - 3 = 15.\n#### 15", []string{"15 eggs"}},
		{`first 2\cdot3, then \boxed{6}`, []string{"6"}},
		{"5 million", []string{"5,000,000", "$5 million"}},
		{"25%", []string{"25%", "0.25", "1/4"}},
		{"60 km/h", []string{"60 km/h", "60"}},
		{"5 kg", []string{"5 kg", "5kg", "5 kilograms", `5\text{ kg}`, "$5", "5", "5 bags", "5 in all"}},
		{"9007199254740993", []string{"9007199254740993"}},
		{"6.63e-34", []string{"6.63 × 10^-34 J"}},
		{0, []string{"0", "-0", "0.0"}},
	} {
		for _, answer := range c.answers {
			if v := matchNumber(t, c.reference, answer); v.Failure != "" || v.Reward != 1 {
				t.Errorf("%v against %q: %+v, want 1", c.reference, answer, v)
			}
		}
	}
}

func TestNumbersThatAreNotTheSame(t *testing.T) {
	for reference, answers := range map[string][]string{
		"5 kg":        {"5 g", "5000 g", `5\text{ g}`, "5 lb", "5 kg/m"},
		"60 km/h":     {"60 miles per hour", "60 m/s", "60 km"},
		"1/2":         {"It is 7/2", "2", "1", "7 1/2", "½x", "1/2/2", `\frac{1}{2}\sqrt{3}`, `\frac{1}{2}\pi`, "x^{1/2}", "-1/2", "−½", "1/0"},
		`\frac{3}{4}`: {`\boxed{\frac{1}{4}}`, "4", "3", `\frac{\sqrt{3}}{4}`},
		"-1/3":        {"1/3", "2 - 1/3", "x-1/3"},
		"3": {`2\sqrt{3}`, `\boxed{5\sqrt{3}}`, "√3", "3x", "3 x", "3π", `3\pi`, "3 pi", "3!", "2^3", "3^2", "3²", "10³", "log 3", `\log_2 3`, `\log_{2} 3`,
			"f(3)", "x_3", "x_{3}", "x3", "1,3", "(1, 3)", "[1, 3)", "1 or 3", "1 and 3", "1-3", "1–3", "1:3", "1 : 3", "5 out of 3", "x > 3", "x ≥ 3", `x \neq 3`,
			"x != 3", "±3", "|−3|", "-(-3)", "5 - 3", "x - 3", "x -3", "- 3", "= 5 + 3", "5 * 3", "5 × 3", "3 + x", "3 * x", "3i", "2 + 3i", "minus 3", "negative 3",
			"not 3", "isn't 3", "less than 3", "at least 3", "3 million", "3k", "$3M", "3 and a half", "3½", "3%", "3 percent", "3e2", "3e999", "3.3.3", "2024-05-03",
			"3万", "answer—3", "the square root of 3", "half of 3", `\boxed{3, 4}`, `\boxed{`, `\boxed{3`, `\boxed{} 3`, "3 ( x + 1)", "3(x+1)", "0x3", "11_3", "1.\u03053", "٣٤, 3٤", "³", "③",
			"3 factorial", "3 cubed", "3 times x", strings.Repeat("9", 500) + "3", "2**3", "3 or 4 apples", "1 3"},
		"0":                {"0.0000009", "1e-300", ""},
		"6.63e-34":         {"1.6e-19", "0"},
		"9007199254740993": {"9007199254740992"},
		"0.5":              {"0.5%", "5", "1/2%", "0.5 million"},
		"25%":              {"25"},
		"7":                {"none"},
	} {
		for _, answer := range answers {
			if v := matchNumber(t, reference, answer); v.Failure != "" || v.Reward != 0 {
				t.Errorf("%v against %q: %+v, want 0", reference, answer, v)
			}
		}
	}
}

func TestReferencesThatAreNotOneNumber(t *testing.T) {
	for _, reference := range []any{"5 and 7", `2\sqrt{3}`, "none", "", "x^2", "3-4", "2024-05-01", "3x", "#### 5\n#### 6", `\boxed{5} or \boxed{6}`, `\boxed{5`,
		"1,23", "3 + 4", "10^3", "5!", "x > 5", "(1, 2)", "1/0", "3 apples and 4 pears", 1e17, true, nil, []any{"5", "5 and 7"}} {
		if v := matchNumber(t, reference, "no"); v.Failure != outcomes.RewardError {
			t.Errorf("%v: %+v, want an error", reference, v)
		}
	}
}
