export { blobIdOf } from "./blob-id.ts";
export { GroupQueue, type Pace } from "./group-queue.ts";
export { type Migration, readMigrations } from "./migrations.ts";
export { OpenFailure, type OpenFailureCode } from "./open-failure.ts";
export { decodePayload, encodePayload } from "./payload.ts";
export { foldText, foldWithOrigins, snippetText } from "./search-text.ts";
export { findSnippet } from "./search-text-snippet.ts";
export { parseTerms, type Term } from "./search-text-terms.ts";
export { isPair, type Token, tokensOf } from "./search-text-tokens.ts";
