// Package verifiers reads and writes the rollouts of PrimeIntellect's verifiers.
// Exporter and Importer say how.
package verifiers
