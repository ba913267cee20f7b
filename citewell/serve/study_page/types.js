/**
 * What the server sends.
 *
 * @typedef {"relevant" | "irrelevant" | "unclear"} Mark
 * @typedef {"open" | "begun" | "done" | "skipped" | "insufficient"} Status
 * @typedef {{ name: string, task: string, contexts: number, columns: number, k: number, judges: string[] }} About
 * @typedef {{ id: string, title: string, abstract?: string, authors?: string[], year?: number, venue?: string }} Paper
 * @typedef {{ label: string, papers: string[] }} Column
 * @typedef {{ kind: "text" | "gap" | "citation", text: string }} Piece
 * @typedef {{ status: Status, marks: Record<string, Mark> }} Answer
 * @typedef {Answer & {
 *   number: number, title: string, abstract: string, pieces: Piece[], columns: Column[], papers: Record<string, Paper>,
 * }} Context
 */

export {};
