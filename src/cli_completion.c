/* Completion for shells, from the tables of options and filters. The scripts know the options; chains they
 * leave to the program: `volfilter --complete-chain WORD` prints what WORD can become. */
#include <dirent.h>
#include <string.h>

#include "cli.h"
#include "value.h"

/* ---- chains ---- */

static bool begins(const char *text, const char *part, size_t length)
{
    return strncmp(text, part, length) == 0;
}

/* Prints `before` and each of "a|b|c" that begins with `part`. */
static void print_choices(FILE *to, const char *before, size_t before_length, const char *choices,
                          const char *part)
{
    while (*choices != '\0') {
        const size_t length = strcspn(choices, "|");
        if (begins(choices, part, strlen(part)) && !vf_choice_is_form(choices, length))
            fprintf(to, "%.*s%.*s\n", (int)before_length, before, (int)length, choices);
        choices += length + (choices[length] == '|');
    }
}

/* The same with each file or directory whose path begins with `part`, and that a chain can name. */
static void print_paths(FILE *to, const char *before, size_t before_length, const char *part)
{
    const char *slash = strrchr(part, '/'), *name = slash == NULL ? part : slash + 1;
    char directory[VF_MOST_PATH + 1];
    snprintf(directory, sizeof directory, "%.*s", (int)(name - part), part);
    DIR *entries = opendir(name == part ? "." : directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        const bool is_shown = entry->d_name[0] != '.' || name[0] == '.';
        if (is_shown && begins(entry->d_name, name, strlen(name)) &&
            strpbrk(entry->d_name, ",: \t\n") == NULL)
            fprintf(to, "%.*s%s%s%s\n", (int)before_length, before, directory, entry->d_name,
                    entry->d_type == DT_DIR ? "/" : "");
    }
    if (entries != NULL)
        closedir(entries);
}

/* The values of a parameter that begin with `part`, which ends the word. */
static void print_values(FILE *to, const struct vf_param *param, const char *word, const char *part)
{
    if (param->kind == VF_PARAM_WEIGHTS)
        print_paths(to, word, (size_t)(part - word), part);
    else if (param->choices != NULL)
        print_choices(to, word, (size_t)(part - word), param->choices, part);
}

/* `at` is the last of the filter's parameters, behind the colon; the first one may be a value alone. */
static void print_params(FILE *to, const struct vf_filter *filter, const char *word, const char *at,
                         bool is_first)
{
    const char *equals = strchr(at, '=');
    for (int i = 0; i < filter->param_count; i++) {
        const struct vf_param *param = &filter->params[i];
        if (equals == NULL && begins(param->name, at, strlen(at)))
            fprintf(to, "%.*s%s=\n", (int)(at - word), word, param->name);
        if (equals != NULL && strlen(param->name) == (size_t)(equals - at) &&
            begins(at, param->name, strlen(param->name)))
            print_values(to, param, word, equals + 1);
    }
    if (equals == NULL && is_first && at[0] != '\0' && filter->param_count > 0)
        print_values(to, &filter->params[0], word, at);
}

void vf_cli_print_candidates(FILE *to, const char *word)
{
    const char *comma = strrchr(word, ','), *name = comma == NULL ? word : comma + 1;
    const size_t length = strcspn(name, ":=");
    if (name[length] != '\0') {
        const struct vf_filter *filter = vf_filter_by_name(name, length);
        const char *colon = strrchr(name + length, ':');
        const char *at = colon == NULL ? name + length + 1 : colon + 1;
        if (filter != NULL)
            print_params(to, filter, word, at, at == name + length + 1);
        return;
    }
    for (int i = 0; vf_filters[i] != NULL; i++)
        if (begins(vf_filters[i]->name, name, length))
            fprintf(to, "%.*s%s\n", (int)(name - word), word, vf_filters[i]->name);
}

/* ---- scripts ---- */

/* What stands for the argument in --help says what it is: DIR, FILE, or LIST, a file of names. */
static bool takes(const struct vf_option *option, const char *what)
{
    return option->argument != NULL && strcmp(option->argument, what) == 0;
}

static bool takes_file(const struct vf_option *option)
{
    return takes(option, "FILE") || takes(option, "LIST");
}

static void print_words(FILE *to, const char *choices)
{
    for (; *choices != '\0'; choices++)
        putc(*choices == '|' ? ' ' : *choices, to);
}

static void print_commands(FILE *to)
{
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++)
        fprintf(to, " %s", word->name);
}

/* Options that are for users. */
static bool is_shown(const struct vf_option *option)
{
    return option->group != NULL;
}

/* Room for the names of all commands. */
#define MOST_COMMANDS 80

/* Whether lines without a command take an option; then `commands` are those that do not, else those that do,
 * each after `before` but the first. */
static bool is_of_filters(int id, const char *before, char *commands, size_t room)
{
    const bool is = (VF_OPTIONS_OF_TUNE & VF_OPTION_BIT(id)) == 0;
    size_t used = 0;
    commands[0] = '\0';
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++)
        if (((vf_command_options(word) & VF_OPTION_BIT(id)) != 0) != is && used < room)
            used +=
                (size_t)snprintf(commands + used, room - used, "%s%s", used > 0 ? before : "", word->name);
    return is;
}

/* `taken`: VF_OPTION_BIT of each. */
static void print_options(FILE *to, unsigned long long taken)
{
    const char *before = "";
    for (int id = 0; id < VF_OPTION_COUNT; id++)
        if (is_shown(&vf_option_table[id]) && (taken & VF_OPTION_BIT(id)) != 0) {
            fprintf(to, "%s--%s", before, vf_option_table[id].name);
            before = " ";
        }
}

/* What help explains, but for the schemes. */
static void print_topics(FILE *to)
{
    print_commands(to);
    for (int i = 0; vf_filters[i] != NULL; i++)
        fprintf(to, " %s", vf_filters[i]->name);
    putc(' ', to);
    print_options(to, ~0ull);
}

static void print_bash(FILE *to)
{
    fputs("# bash completion of volfilter, made by `volfilter --completion bash`\n"
          "_volfilter() {\n"
          "    local line=${COMP_LINE:0:COMP_POINT} word previous before candidate cut words=\n"
          "    word=${line##*[[:space:]]}\n"
          "    before=${line%\"$word\"}\n"
          "    read -r -a before <<<\"$before\"\n"
          "    previous=${before[${#before[@]} - 1]}\n"
          "    COMPREPLY=()\n"
          "    case \" ${before[*]} \" in\n"
          "    *' -- '*) compopt -o default; return ;;\n"
          "    esac\n"
          "    case $word in\n"
          "    --*=*) previous=${word%%=*} word=${word#*=} ;;\n"
          "    esac\n"
          "    case $previous in\n"
          "    -f | --filter)\n"
          "        words=$(volfilter --complete-chain \"$word\" 2>/dev/null)\n"
          "        compopt -o nospace\n"
          "        ;;\n",
          to);
    for (int id = 0; id < VF_OPTION_COUNT; id++) {
        const struct vf_option *option = &vf_option_table[id];
        if (!is_shown(option) || id == VF_OPTION_FILTER || option->argument == NULL)
            continue;
        fprintf(to, "    --%s) ", option->name);
        if (takes(option, "DIR"))
            fputs("compopt -o dirnames; return ;;\n", to);
        else if (takes_file(option))
            fputs("compopt -o default; return ;;\n", to);
        else if (option->choices == NULL)
            fputs("return ;;\n", to);
        else {
            fputs("words='", to);
            print_words(to, option->choices);
            fputs("' ;;\n", to);
        }
    }
    fputs("    help) words='schemes", to);
    print_topics(to);
    fputs("' ;;\n"
          "    *)\n"
          "        case $word in\n"
          "        -*)\n"
          "            case ${before[1]} in\n",
          to);
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++) {
        fprintf(to, "            %s) words='", word->name);
        print_options(to, vf_command_options(word));
        fputs("' ;;\n", to);
    }
    fputs("            *) words='", to);
    print_options(to, ~VF_OPTIONS_OF_TUNE);
    fputs("' ;;\n"
          "            esac\n"
          "            ;;\n"
          "        *)\n"
          "            compopt -o default\n"
          "            [ ${#before[@]} -eq 1 ] && words='",
          to);
    print_commands(to);
    fputs("'\n"
          "            [ \"${before[1]}\" = tune ] && words=$(volfilter --complete-chain \"$word\" "
          "2>/dev/null)\n"
          "            ;;\n"
          "        esac\n"
          "        ;;\n"
          "    esac\n"
          "    # What stands before the last colon or equals sign is a word of its own to readline.\n"
          "    cut=${word%\"${word##*[:=]}\"}\n"
          "    for candidate in $(compgen -W \"$words\" -- \"$word\"); do\n"
          "        COMPREPLY+=(\"${candidate#\"$cut\"}\")\n"
          "    done\n"
          "}\n"
          "complete -F _volfilter volfilter\n",
          to);
}

/* zsh and fish show the help beside an option; quotes end the shells' own strings. */
static void print_quoted(FILE *to, const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr(special, *text) != NULL)
            fprintf(to, "\\%c", *text);
        else
            putc(*text, to);
    }
}

static void print_zsh(FILE *to)
{
    fputs("#compdef volfilter\n"
          "# zsh completion of volfilter, made by `volfilter --completion zsh`\n"
          "_volfilter_chain() {\n"
          "    local -a words\n"
          "    words=(${(f)\"$(volfilter --complete-chain \"$PREFIX\" 2>/dev/null)\"})\n"
          "    compadd -S '' -U -- $words\n"
          "}\n"
          "_volfilter_words() {\n"
          "    if [[ $words[2] == help ]]; then\n"
          "        compadd -- schemes",
          to);
    print_topics(to);
    fputs("\n    elif [[ $words[2] == tune && $CURRENT -gt 2 ]]; then\n"
          "        _volfilter_chain\n"
          "    else\n"
          "        (( CURRENT == 2 )) && compadd",
          to);
    print_commands(to);
    fputs("\n"
          "        _files\n"
          "    fi\n"
          "}\n"
          "local -a options\n",
          to);
    for (int id = 0; id < VF_OPTION_COUNT; id++) {
        const struct vf_option *option = &vf_option_table[id];
        if (!is_shown(option))
            continue;
        const bool repeats = id == VF_OPTION_FILTER || id == VF_OPTION_VERBOSE;
        char commands[MOST_COMMANDS];
        const bool is = is_of_filters(id, "|", commands, sizeof commands);
        if (commands[0] != '\0')
            fprintf(to, "[[ $words[2] == (%s) ]] %s ", commands, is ? "||" : "&&");
        fprintf(to, "options+=('%s--%s%s[", repeats ? "*" : "", option->name,
                option->argument == NULL ? "" : "=");
        print_quoted(to, option->help, "[]:");
        putc(']', to);
        if (id == VF_OPTION_FILTER)
            fputs(":chain:_volfilter_chain", to);
        else if (takes(option, "DIR"))
            fputs(":directory:_files -/", to);
        else if (takes_file(option))
            fputs(":file:_files", to);
        else if (option->choices != NULL) {
            fprintf(to, ":%s:(", option->name);
            print_words(to, option->choices);
            putc(')', to);
        } else if (option->argument != NULL)
            fprintf(to, ":%s: ", option->name);
        if (id == VF_OPTION_FILTER)
            fputs("' '*-f[the same]:chain:_volfilter_chain", to);
        fputs("')\n", to);
    }
    fputs("_arguments $options '*:file:_volfilter_words'\n", to);
}

static void print_fish(FILE *to)
{
    fputs("# fish completion of volfilter, made by `volfilter --completion fish`\n"
          "complete -c volfilter -n __fish_use_subcommand -a '",
          to);
    print_commands(to);
    fputs("'\n"
          "complete -c volfilter -n '__fish_seen_subcommand_from help' -f -a 'schemes",
          to);
    print_topics(to);
    fputs("'\n"
          "complete -c volfilter -n '__fish_seen_subcommand_from tune' -f -a '(volfilter --complete-chain "
          "(commandline -ct))'\n",
          to);
    for (int id = 0; id < VF_OPTION_COUNT; id++) {
        const struct vf_option *option = &vf_option_table[id];
        if (!is_shown(option))
            continue;
        char commands[MOST_COMMANDS];
        const bool is = is_of_filters(id, " ", commands, sizeof commands);
        fprintf(to, "complete -c volfilter -l %s", option->name);
        if (commands[0] != '\0')
            fprintf(to, " -n '%s__fish_seen_subcommand_from %s'", is ? "not " : "", commands);
        if (option->letter != 0)
            fprintf(to, " -s %c", option->letter);
        if (id == VF_OPTION_FILTER)
            fputs(" -x -a '(volfilter --complete-chain (string replace -r \"^--filter=\" \"\" -- "
                  "(commandline -ct)))'",
                  to);
        else if (takes(option, "DIR"))
            fputs(" -x -a '(__fish_complete_directories)'", to);
        else if (takes_file(option))
            fputs(" -r", to);
        else if (option->choices != NULL) {
            fputs(" -x -a '", to);
            print_words(to, option->choices);
            putc('\'', to);
        } else if (option->argument != NULL)
            fputs(" -x", to);
        fputs(" -d '", to);
        print_quoted(to, option->help, "\\");
        fputs("'\n", to);
    }
}

void vf_cli_print_completion(FILE *to, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(to);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(to);
    else
        print_fish(to);
}
