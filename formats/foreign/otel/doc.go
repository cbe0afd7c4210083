// Package otel reads and writes traces of OpenTelemetry by its semantic
// conventions for generative AI. Exporter and Importer say how.
package otel
