// Package redaction removes keys and personal data from rows, by the rules of a
// file that a user writes, and finds keys in rows.
//
// It is for what a dataset says by accident. Package formats/secret is for the
// secrets that this process was given, and needs no rules.
//
// Load reads the rules; Rules.Trajectory, Rules.Pair and Rules.Label change a row
// in place and return what they replaced. Every text of a row is searched:
// messages, their parts and tool calls, candidates, tools, example, metadata,
// answers and errors. A text that is a JSON object or list is searched string by
// string, with escapes resolved, and stays valid JSON; a number that a rule finds
// becomes a string. Ids, names of models and numbers of a row are kept, because
// datasets are joined by them. What was found is replaced by [redacted:NAME],
// where NAME is that of the detector, the pattern or the field.
//
// When the conversation changed, the row loses its token ids and logprobs
// (formats.Trajectory.DropTokens): they spell out what was removed.
//
// FindKey searches with the detectors of keys only, and is what the check "keys"
// of formats/validate uses.
//
// The detectors prefer precision: a key has a prefix, a length and a digit, a
// card number has a valid check digit. A phone number is found in international
// form or as three groups, not as digits alone. What they miss, a pattern or a
// field of the rules removes.
//
// To add a detector of keys: a line in keys, with literals one of which every
// such key contains, and the pattern that is matched there. For personal data: a
// line in personal. TestDetectors has a
// list of examples for each, and the fuzz targets use the same list.
package redaction
