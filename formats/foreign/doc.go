// Package foreign lists the formats of other programs: those that export writes
// (Exporters) and those that import reads (Importers). A format is a folder below,
// with its reader and its writer side by side; trainers and tables only have
// writers. What a format is, package exporters and package importers define.
//
// To add one: a folder or a file, a line in one of the lists, and files for the
// suite, foreigntest.
package foreign
