// Package sts reads and writes session transcripts of coding agents, as the
// viewer of the Hugging Face hub shows them. Exporter and Importer say how.
package sts
