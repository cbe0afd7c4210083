package redaction

import (
	"net/netip"
	"regexp"
	"strings"
)

var personal = []struct {
	name string
	help string
	find func(text string, found func(from, to int))
}{
	{"email", "email addresses", emails},
	{"card", "numbers of payment cards, with a valid check digit", cards},
	{"iban", "numbers of bank accounts (IBAN), with valid check digits", ibans},
	{"phone", "phone numbers: +49 30 1234567, (415) 555-0132, 415-555-0132", phones},
	{"ipv4", "IPv4 addresses, except 127.0.0.1 and 0.0.0.0", ipv4},
	{"ipv6", "IPv6 addresses, except ::1", ipv6},
}

var (
	local   = classOf("._%+-")
	host    = classOf(".-")
	address = classOfBytes("0123456789abcdefABCDEF:.")
)

func classOfBytes(list string) *class {
	c := &class{}
	for i := range len(list) {
		c[list[i]] = true
	}
	return c
}

// back returns the begin of the longest run of a class that ends at at, within scanLimit bytes.
func (c *class) back(text string, at int) int {
	lowest := max(0, at-scanLimit)
	for at > lowest && c[text[at-1]] {
		at--
	}
	return at
}

// emails finds NAME@HOST.TLD. git@HOST is an address of code, not of a person.
func emails(text string, found func(from, to int)) {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '@')
		if next < 0 {
			return
		}
		at += next
		from := local.back(text, at)
		// of JSON in text: \nname@host
		if from >= 1 && from < at && text[from-1] == '\\' && strings.IndexByte("nrtbf", text[from]) >= 0 {
			from++
		}
		to := at + 1 + len(strings.TrimRight(text[at+1:host.near(text, at+1)], ".-"))
		name, domain := text[from:at], text[at+1:to]
		dot := strings.LastIndexByte(domain, '.')
		if name == "" || name == "git" || dot < 1 || len(domain)-dot < 3 || strings.ContainsAny(domain[dot:], "0123456789-") {
			continue
		}
		found(from, to)
		at = to - 1
	}
}

// numbers calls f at each begin of a number, and continues at the end that it
// returns; 0 when the number is not the one that it looks for.
func numbers(text string, f func(at int) (end int)) {
	for at := 0; at < len(text); at++ {
		if !isDigit(text[at]) {
			continue
		}
		if begins(text, at) && (at < 2 || text[at-1] != '.' || !isDigit(text[at-2])) {
			if end := f(at); end > at {
				at = end - 1
				continue
			}
		}
		for at+1 < len(text) && isDigit(text[at+1]) {
			at++
		}
	}
}

// ends reports whether a number may end at at.
func ends(text string, at int) bool {
	return at >= len(text) || !word[text[at]] && (text[at] != '.' || at+1 >= len(text) || !isDigit(text[at+1]))
}

// grouped returns the digits from at, and the end of each of them. Groups of
// digits may be separated by one space or one hyphen.
func grouped(text string, at, limit int) (digits []byte, to []int) {
	for len(digits) <= limit && at < len(text) {
		switch c := text[at]; {
		case isDigit(c):
			digits, to = append(digits, c-'0'), append(to, at+1)
			at++
		case (c == ' ' || c == '-') && at+1 < len(text) && isDigit(text[at+1]):
			at++
		default:
			return digits, to
		}
	}
	return digits, to
}

// cards finds 13 to 19 digits with the prefix and length of a network.
func cards(text string, found func(from, to int)) {
	numbers(text, func(at int) int {
		if text[at] < '2' || text[at] > '6' {
			return 0
		}
		digits, to := grouped(text, at, 19)
		for n := min(len(digits), 19); n >= 13; n-- {
			if end := to[n-1]; ends(text, end) && network(digits[:n]) && luhn(digits[:n]) {
				found(at, end)
				return end
			}
		}
		return 0
	})
}

func network(d []byte) bool {
	two, four := int(d[0])*10+int(d[1]), (int(d[0])*10+int(d[1]))*100+int(d[2])*10+int(d[3])
	switch n := len(d); {
	case d[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55 || four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34 || two == 37: // American Express
		return n == 15
	case two == 30 || two == 36 || two == 38: // Diners
		return n == 14
	case two == 35, two == 62, two == 65, two == 64, four == 6011: // JCB, UnionPay, Discover
		return n >= 16
	}
	return false
}

func luhn(d []byte) bool {
	sum := 0
	for i, c := range d {
		v := int(c)
		if (len(d)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

var (
	international = from(`\+\d(?:[ ./()-]{0,2}\d){7,15}`)
	northAmerican = from(`(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-. ])[2-9]\d{2}[-. ]\d{4}`)
	dottedQuad    = from(`\d{1,3}(?:\.\d{1,3}){3}`)
)

// phones finds a plus sign and 8 to 15 digits, in groups that may be in parentheses, and
// are separated by a space, a hyphen, a dot or a slash; and the three groups of North
// America.
func phones(text string, found func(from, to int)) {
	numbers(text, func(at int) int {
		form, from := northAmerican, at
		switch {
		case at > 0 && text[at-1] == '+':
			if form, from = international, at-1; !begins(text, from) || from > 0 && text[from-1] == ')' { // a sum
				return 0
			}
		case at+3 >= len(text) || strings.IndexByte("-. )", text[at+3]) < 0: // most numbers
			return 0
		case at > 0 && text[at-1] == '(':
			from--
		}
		return reported(form, text, from, found, func(phone string) bool { return len(digits(phone)) <= 15 })
	})
}

// reported matches a pattern at a place, and reports it and returns its end if a number
// may end there and the check holds; otherwise it returns 0.
func reported(form *regexp.Regexp, text string, at int, found func(from, to int), check func(string) bool) int {
	m := form.FindString(text[at:min(len(text), at+scanLimit)])
	if m == "" || !ends(text, at+len(m)) || !check(m) {
		return 0
	}
	found(at, at+len(m))
	return at + len(m)
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// ipv4 finds four numbers of at most 255.
func ipv4(text string, found func(from, to int)) {
	numbers(text, func(at int) int {
		if strings.Count(text[at:min(len(text), at+len("255.255.255."))], ".") < 3 { // most numbers
			return 0
		}
		return reported(dottedQuad, text, at, found, func(m string) bool {
			ip, err := netip.ParseAddr(m)
			return err == nil && !ip.IsLoopback() && !ip.IsUnspecified()
		})
	})
}

// ipv6 finds addresses with a digit and three colons, or with a first group of
// four: a::b is a path in several languages.
func ipv6(text string, found func(from, to int)) {
	for at := 0; at < len(text); at++ {
		next := strings.IndexByte(text[at:], ':')
		if next < 0 {
			return
		}
		at += next
		from := address.back(text, at)
		to := at + len(strings.TrimRight(text[at:address.near(text, at)], "."))
		for to > at && text[to-1] == ':' && !strings.HasSuffix(text[from:to], "::") {
			to--
		}
		candidate := text[from:to]
		ip, err := netip.ParseAddr(candidate)
		if err != nil || ip.IsLoopback() || ip.IsUnspecified() || !begins(text, from) || to < len(text) && word[text[to]] ||
			!strings.ContainsAny(candidate, "0123456789") ||
			strings.Count(candidate, ":") < 3 && strings.IndexByte(candidate, ':') != 4 {
			at = max(at, to-1)
			continue
		}
		found(from, to)
		at = max(at, to) // a colon after an address is not looked at again
	}
}

// ibans finds two letters, two check digits and 11 to 30 letters and digits, in
// groups of four or without spaces.
func ibans(text string, found func(from, to int)) {
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	for at := 0; at+15 <= len(text); at++ {
		if !upper(text[at]) || !upper(text[at+1]) || !isDigit(text[at+2]) || !isDigit(text[at+3]) || !begins(text, at) {
			continue
		}
		var account []byte
		var to []int
		for i := at; i < len(text) && len(account) < 34; i++ {
			if c := text[i]; upper(c) || isDigit(c) {
				account, to = append(account, c), append(to, i+1)
			} else if c != ' ' || len(account)%4 != 0 || text[i-1] == ' ' {
				break
			}
		}
		for n := len(account); n >= 15; n-- {
			if ends(text, to[n-1]) && mod97(account[:n]) == 1 {
				found(at, to[n-1])
				at = to[n-1] - 1
				break
			}
		}
	}
}

// mod97 is the check of an account number: its first four characters go to the
// end, letters count from 10.
func mod97(account []byte) (rest int) {
	for i := range account {
		if c := account[(i+4)%len(account)]; isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest
}
