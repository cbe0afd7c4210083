// Package page reads the pages of one column chunk after another (window,
// column): it checks them, decompresses them (codec), and decodes their levels and values
// within the budget of the file. It knows no rows; recycle lends the memory of pages whose
// rows are not used any more.
package page
