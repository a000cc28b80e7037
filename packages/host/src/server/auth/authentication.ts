import { join } from "node:path";
import { type Store, StoreFailure } from "@holdfast/engine";
import { readTextOrEmpty, writeFileAtomically } from "../../util/atomic-file.ts";
import type { EncryptedRows } from "../../ops/secrets/encrypted-rows.ts";
import { type Authenticator, createAuthenticator, owner } from "./authenticator.ts";
import { type ApiKeys, openApiKeys } from "./api-keys.ts";
import { createPasswords, type Passwords } from "./password.ts";
import { createSharedThrottle, type SignInThrottle } from "./shared-throttle.ts";
import { digestSecret } from "./secret-digest.ts";
import { moveSignInFile, type StoredSignIns } from "./stored-sign-ins.ts";

export interface Authentication {
  readonly authenticator: Authenticator;
  readonly apiKeys: ApiKeys;
  readonly passwords: Passwords;
  readonly signInAttempts: SignInThrottle;
}

export interface AuthenticationDeps {
  readonly home: string;
  readonly token: string;
  readonly store: Pick<Store, "kind" | "register">;
  readonly encrypted: EncryptedRows;
}

/** Opens the sign-ins and the password, and moves the sign-ins that earlier versions kept in a file. */
export async function openAuthentication({
  home,
  token,
  store,
  encrypted,
}: AuthenticationDeps): Promise<Authentication> {
  const apiKeys = openApiKeys({ register: store.register, owner });
  const authenticator = createAuthenticator({ token, store, apiKeys });
  const { stored } = authenticator;
  await stored.reload();
  await moveSignInFile(home, stored, digestSecret(token));
  await endSignInsOfOldToken(home, stored, digestSecret(token));
  const passwords = createPasswords(encrypted);
  return {
    authenticator,
    apiKeys,
    passwords,
    signInAttempts: createSharedThrottle(store.register),
  };
}

/** Replacing the token ends the sign-ins that this home has issued, on a shared store too. */
async function endSignInsOfOldToken(
  home: string,
  signIns: StoredSignIns,
  digest: string,
): Promise<void> {
  const file = join(home, "sign-in-token");
  const last = (await readTextOrEmpty(file)).trim();
  if (last === digest) return;
  if (last !== "") await signIns.remove((signIn) => signIn.token === last);
  await writeFileAtomically(file, `${digest}\n`);
}

/** Signs a browser in, once. Without a code if the store takes none: the host starts anyway, and the token signs in. */
export async function createSignInLink(
  address: string,
  authenticator: Pick<Authenticator, "issueSignInCode">,
  warn: (line: string) => void,
): Promise<string> {
  try {
    const { code } = await authenticator.issueSignInCode();
    // A browser sends no server what follows the hash, so the code is in no log.
    return `${address}#signin=${code}`;
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    warn(`There is no sign-in link, because its code could not be stored: ${error.message}`);
    return address;
  }
}

/** Too long to guess. */
const strongTokenLength = 32;

export function tokenStrength(token: string): "guessable" | "strong" {
  return token.length < strongTokenLength ? "guessable" : "strong";
}
