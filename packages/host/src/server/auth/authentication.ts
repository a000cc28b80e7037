import { type Authenticator, createAuthenticator, openSignInFile } from "./authenticator.ts";
import { openPasswordFile, type PasswordFile } from "./password.ts";

export interface Authentication {
  readonly authenticator: Authenticator;
  readonly passwords: PasswordFile;
}

/** Opens the sign-ins and the password that the home keeps. */
export function openAuthentication(home: string, token: string): Authentication {
  const signIns = openSignInFile(home, token);
  return {
    authenticator: createAuthenticator(token, Date.now, signIns),
    passwords: openPasswordFile(home),
  };
}

/** Too long to guess. */
const strongTokenLength = 32;

export function tokenStrength(token: string): "guessable" | "strong" {
  return token.length < strongTokenLength ? "guessable" : "strong";
}
