package show

import "testing"

// A mean of 0 is shown as 0 although adding up left something, and counts of tokens are whole.
func TestSpreadIsReadable(t *testing.T) {
	for want, s := range map[string]Spread{
		"mean 0, -0.6742 to 2.646":        {Mean: -4.857e-17, Min: -0.67420, Max: 2.64575},
		"mean 86402, 9 to 123456":         {Mean: 86401.5, Min: 9, Max: 123456},
		"mean 1e-14, 1e-14 to 1e-14":      {Mean: 1e-14, Min: 1e-14, Max: 1e-14},
		"mean 0, 0 to 0":                  {},
		"mean 0.2292, 0 to 1":             {Mean: 0.229166, Max: 1},
		"mean -1e+20, -1e+20 to -2.5e+15": {Mean: -1e20, Min: -1e20, Max: -2.5e15},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
