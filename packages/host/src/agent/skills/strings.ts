/** Why skills cannot be taken from a place, for the person who named it. */
export const packStrings = {
  badSource: "Give a folder, a zip or tar.gz archive, or the https address of a git repository.",
  badAddress:
    "Give the https address of a git repository, without a name or password in it, such as https://example.org/skills.git.",
  notAbsolute: (path: string) => `${path} is not an absolute path. Begin it with a slash.`,
  notFound: (path: string) => `${path} is neither a folder nor an archive. Check the path.`,
  notFolder: (path: string) => `${path} is not a folder of the host. Check the path.`,
  archiveTooLarge: "The archive is larger than 25 MiB. Leave out what the skills do not need.",
  skillsTooLarge: "The skills are larger than 25 MiB. Install them one by one.",
  noSkill: (folder: string) =>
    `${folder} has no folder with a SKILL.md. Name the folder of a skill.`,
  changed: (path: string) => `The files of ${path} changed while they were read. Try again.`,
  skipped: (path: string, reason: string) => `${path}: ${reason}`,
  noGit: "git cannot be started. Install git and try again.",
  notCloned: (output: string) => `git could not clone the repository: ${output}`,
} as const;
