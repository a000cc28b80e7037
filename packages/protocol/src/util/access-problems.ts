/** Problems of sign-ins, API keys, allowed folders, files of a workspace and stored secrets. */
export const accessProblems = {
  api_key_not_found: {
    status: 404,
    title: "There is no such API key.",
    next: "Read the keys again.",
  },
  api_key_exists: {
    status: 409,
    title: "There is already an API key with this name.",
    next: "Choose another name, or revoke that key first.",
  },
  too_many_api_keys: {
    status: 409,
    title: "There are too many API keys.",
    next: "Revoke one that is no longer used.",
  },
  folder_refused: {
    status: 409,
    title: "Sessions may not work in this folder.",
    next: "Read `detail`, and choose a project folder of your own.",
  },
  worktree_unavailable: {
    status: 422,
    title: "The worktree cannot be made or removed.",
    next: "Read `detail`. A worktree needs the top folder of a git repository that Holdfast may work in.",
  },
  worktree_not_found: {
    status: 404,
    title: "There is no such worktree on this machine.",
    next: "Read the worktrees again and choose one of them.",
  },
  worktree_has_work: {
    status: 409,
    title: "Work in the worktree would be lost.",
    next: "Commit and merge it, keep the branch, or confirm losing exactly this work with `lose`.",
  },
  folder_not_found: {
    status: 404,
    title: "There is no allowed folder with this id.",
    next: "Read the folders again.",
  },
  file_not_found: {
    status: 404,
    title: "There is no such file in the workspace.",
    next: "List the folder again.",
  },
  file_refused: {
    status: 409,
    title: "This path of the workspace cannot be used.",
    next: "Read `detail`, and choose another path.",
  },
  file_exists: {
    status: 409,
    title: "A file with this name already exists.",
    next: "Choose another name, or replace it (`existing=replace`).",
  },
  file_too_large: {
    status: 413,
    title: "The file is too large to download.",
    next: "Copy it on the machine where the host runs.",
  },
  workspace_elsewhere: {
    status: 503,
    title: "The files are on another host, which cannot be reached.",
    next: "Read `detail`: it names the host and says what to do.",
  },
  workspace_not_lost: {
    status: 409,
    title: "The files of this conversation are not lost.",
    next: "Use them as they are: requests and runs go to the host that has them.",
  },
  secrets_locked: {
    status: 503,
    title: "This host cannot open the stored secrets.",
    next: "Give it the key that they were encrypted with: HOLDFAST_SECRETS_KEY, or secrets.key in the home.",
  },
  key_rejected: {
    status: 400,
    title: "API key rejected.",
    next: "Copy the whole key from the provider's page again. Nothing was stored.",
  },
  setting_configured: {
    status: 409,
    title: "This setting is set in the host's configuration, which takes precedence.",
    next: "Change it there and restart the host, or remove it there to change it here.",
  },
  sign_in_not_found: {
    status: 404,
    title: "There is no such sign-in.",
    next: "Read the sign-ins again.",
  },
} as const;
