import { type FormEvent, useId, useState } from "react";
import type { SignInTrouble } from "../host/index.ts";
import { Mark } from "./mark.tsx";

interface SignInProps {
  readonly trouble: SignInTrouble | undefined;
  readonly onToken: (token: string) => Promise<void>;
}

const sentences: Readonly<Record<SignInTrouble, string>> = {
  "link-refused": "This sign-in link was used before, or is older than ten minutes.",
  "token-refused": "This is not the token of this host.",
  unreachable: "The host did not answer. Try once more.",
};

export function SignIn({ trouble, onToken }: SignInProps) {
  const [token, setToken] = useState("");
  const [asking, setAsking] = useState(false);
  const [field, hint, notice] = [useId(), useId(), useId()];
  const given = token.trim();

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (given === "") return;
    setAsking(true);
    await onToken(given);
    setAsking(false);
  }

  return (
    <div className="column">
      <Mark />
      <h1>Sign in to Holdfast</h1>
      <p className="lead">
        Open the link that Holdfast printed when it started. It signs you in once.
      </p>
      {trouble !== undefined && (
        <p className="notice" role="alert" id={notice}>
          {sentences[trouble]}
        </p>
      )}
      <form className="form shelf" onSubmit={(event) => void submit(event)}>
        <label className="field" htmlFor={field}>
          Or paste the token
        </label>
        <div className="row">
          <input
            id={field}
            className="input"
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
            aria-describedby={trouble === undefined ? hint : `${notice} ${hint}`}
            aria-invalid={trouble === "token-refused"}
          />
          <button type="submit" className="button primary" disabled={asking || given === ""}>
            {asking ? "Signing in…" : "Sign in"}
          </button>
        </div>
        <p className="quiet" id={hint}>
          It is in the file <code>token</code> in the home folder, <code>~/.holdfast</code> unless
          it was set.
        </p>
      </form>
    </div>
  );
}
