package parquet

const (
	// These bound a row group; an example group that exceeds one of them has a row
	// group of its own. With heavyBytes, all pages of a row lie near one another:
	// in an object store they are one or two ranges, and the gaps between them
	// are a few MB. A row group of light rows ends at rowGroupRows long before.
	rowGroupRows  = 4096
	rowGroupBytes = 64 << 20 // uncompressed
	copyBytes     = 16 << 20 // uncompressed, of copied rows: they become about heavyBytes
	tokenBytes    = 16 << 20 // of lists of tokens that are not heavy, compressed: sequences of any length

	joinPage  = 4 << 10 // heavy pages of example groups below this are joined
	splitPage = 8 << 20 // heavy pages of an example group above this are split between rows
	pageBytes = 1 << 20 // of a light page

	maxBound = 64 // longer strings are not recorded as bounds
)
