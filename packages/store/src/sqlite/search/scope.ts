import { crc32 } from "node:zlib";

import type { SearchRole } from "@holdfast/engine";

import type { Token } from "../../shared/search-text/tokens.ts";

/**
 * Tokens that say whose a document is, where it stands and who spoke, so that a filter is one more list to intersect.
 * Hits are checked against the store anyway: two owners with one token cost time, and show nothing.
 */
export function ownerToken(owner: string): Token {
  return `=o${crc32(owner).toString(36)}`;
}

export function sessionToken(key: number): Token {
  return `=s${key.toString(36)}`;
}

export function roleToken(role: SearchRole): Token {
  return `=r${role}`;
}
