// Package align compares two lists of texts or digests, element by element.
package align

// Common returns the indexes, in a and in b, of the elements of a longest common subsequence. If more than
// limit elements are between their common beginning and end, it returns only these two.
func Common[T comparable](a, b []T, limit int) (common [][2]int) {
	from, end := 0, 0
	for ; from < min(len(a), len(b)) && a[from] == b[from]; from++ {
		common = append(common, [2]int{from, from})
	}
	for ; end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end]; end++ {
	}
	x, y := a[from:len(a)-end], b[from:len(b)-end]
	if max(len(x), len(y)) <= limit {
		common = append(common, between(x, y, from)...)
	}
	for k := end; k > 0; k-- {
		common = append(common, [2]int{len(a) - k, len(b) - k})
	}
	return common
}

// between returns the indexes, which it counts from a number.
func between[T comparable](a, b []T, from int) (common [][2]int) {
	width := len(b) + 1
	longest := make([]uint16, (len(a)+1)*width) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if at := i*width + j; a[i] == b[j] {
				longest[at] = longest[at+width+1] + 1
			} else {
				longest[at] = max(longest[at+width], longest[at+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch at := i*width + j; {
		case a[i] == b[j]:
			common = append(common, [2]int{from + i, from + j})
			i, j = i+1, j+1
		case longest[at+width] >= longest[at+1]:
			i++
		default:
			j++
		}
	}
	return common
}
