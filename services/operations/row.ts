/** A name with its value, as an operator reads them; null leaves the row out. */
export type Row = [name: string, value: string | null];
