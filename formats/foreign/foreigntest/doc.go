// Package foreigntest has the suites that formats pass: Exporter and Importer.
package foreigntest
