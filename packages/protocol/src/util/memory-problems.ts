/** Problems with facts, custom instructions, skills, agents, guidance, personas and projects. */
export const memoryProblems = {
  fact_not_found: {
    status: 404,
    title: "There is no such fact, or it is no longer waiting for a decision.",
    next: "Read the facts again.",
  },
  fact_changed: {
    status: 409,
    title: "This fact was changed or deleted in the meantime.",
    next: "Read it again, and change what it says now.",
  },
  custom_instructions_changed: {
    status: 409,
    title: "Your instructions were changed in the meantime.",
    next: "Read them again, and change what they say now.",
  },
  skill_not_found: {
    status: 404,
    title: "There is no such skill.",
    next: "Read the skills again and choose one of them.",
  },
  skill_not_installed: {
    status: 409,
    title: "This skill was not installed by Holdfast.",
    next: "Delete its folder yourself, or switch it off.",
  },
  skill_archive_unusable: {
    status: 422,
    title: "No skill can be installed from this archive.",
    next: "Give a zip or tar.gz archive with a SKILL.md in a folder of its own.",
  },
  skill_exists: {
    status: 409,
    title: "There is already a skill with this name.",
    next: "Remove that one first, or give the new one another name.",
  },
  skill_changed: {
    status: 409,
    title: "The skill's files were changed in the meantime.",
    next: "Read it again, and decide on what it says now.",
  },
  agent_not_found: {
    status: 404,
    title: "There is no such agent.",
    next: "Read the agents again and choose one of them.",
  },
  agent_changed: {
    status: 409,
    title: "The agent's file was changed in the meantime.",
    next: "Read it again, and decide on what it says now.",
  },
  guidance_changed: {
    status: 409,
    title: "This text was changed in the meantime.",
    next: "Read it again, and change what it says now.",
  },
  persona_not_found: {
    status: 404,
    title: "There is no such persona.",
    next: "Read the personas again and choose one of them.",
  },
  persona_changed: {
    status: 409,
    title: "This persona was changed or deleted in the meantime.",
    next: "Read it again, and change what it says now.",
  },
  persona_name_taken: {
    status: 409,
    title: "Another persona has this name.",
    next: "Choose another name.",
  },
  persona_built_in: {
    status: 409,
    title: "The first persona is built in and cannot be deleted.",
    next: "Change its text, or make another persona the default.",
  },
  persona_in_file: {
    status: 409,
    title: "persona.md is too long to edit here.",
    next: "Edit persona.md in the home of the host, or make it shorter.",
  },
  too_many_personas: {
    status: 409,
    title: "There are too many personas.",
    next: "Delete one that is no longer needed.",
  },
  project_not_found: {
    status: 404,
    title: "There is no such project.",
    next: "Read the projects again and choose one of them.",
  },
  project_changed: {
    status: 409,
    title: "This project was changed or deleted in the meantime.",
    next: "Read it again, and change what it says now.",
  },
  project_name_taken: {
    status: 409,
    title: "Another project has this name.",
    next: "Choose another name.",
  },
  too_many_projects: {
    status: 409,
    title: "There are too many projects.",
    next: "Delete one that is no longer needed.",
  },
  project_file_not_found: {
    status: 404,
    title: "The project has no such file.",
    next: "Read the files of the project again.",
  },
  project_file_exists: {
    status: 409,
    title: "The project already has a file with this name.",
    next: "Choose another name, or ask to replace the file.",
  },
  project_file_too_large: {
    status: 413,
    title: "The file is larger than 10 MB.",
    next: "Give the project the part that matters.",
  },
  project_file_not_text: {
    status: 415,
    title: "The file is neither text nor a PDF.",
    next: "Save it as text or PDF, or attach it to a message.",
  },
  too_many_project_files: {
    status: 409,
    title: "The project has 20 files, which is the limit.",
    next: "Delete one that is no longer needed.",
  },
  memory_busy: {
    status: 503,
    title: "Another process is writing to memory.",
    next: "Wait a moment and send the same request again.",
  },
} as const;
