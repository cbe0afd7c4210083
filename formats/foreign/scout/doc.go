// Package scout reads and writes the transcripts of Inspect Scout. Exporter and
// Importer say how.
package scout
