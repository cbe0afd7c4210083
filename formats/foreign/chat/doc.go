// Package chat reads and writes conversations as Hugging Face datasets, TRL and
// OpenAI's fine-tuning store them, and reads those of ShareGPT and Alpaca.
// Exporter, Importer and ShareGPT say how.
package chat
