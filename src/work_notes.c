/* Notes about a file of vf_work: what is not read, done or kept. */
#include <string.h>
#include <strings.h>

#include "work.h"

static void add_note(char *notes, size_t room, const char *before, const char *note)
{
    const size_t used = strlen(notes);
    if (note[0] != '\0')
        snprintf(notes + used, room - used, "%s%s%s", used > 0 ? "; " : "", before, note);
}

static void note_about(struct vf_work *w, const char *name, const char *note, bool is_said)
{
    add_note(w->notes, sizeof w->notes, "", note);
    if (is_said && !w->options->quiet)
        vf_say("%s: %s", name, note);
}

void vf_work_say(struct vf_work *w, const char *name, const char *note)
{
    note_about(w, name, note, true);
}

void vf_work_say_once(struct vf_work *w, const char *name, const char *note)
{
    note_about(w, name, note, w->options->verbose > 0 || vf_session_is_new(w->session, note));
}

const char *vf_work_notes(const struct vf_work *w)
{
    return w->notes[0] != '\0' ? w->notes : NULL;
}

/* Whether a name promises OME-TIFF. */
static bool is_ome_name(const char *name)
{
    static const char *const ending[] = {".ome.tif", ".ome.tiff"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        const size_t size = strlen(ending[i]);
        if (length > size && strcasecmp(name + length - size, ending[i]) == 0)
            return true;
    }
    return false;
}

static void warn_of_rounding(struct vf_work *w)
{
    const int link = vf_chain_float_link(w->plan.chain);
    const char *type = vf_type_name(w->result.type);
    char note[220];
    if (link < 0 || vf_type_is_float(w->result.type))
        return;
    const char *filter = w->plan.chain->link[link].filter->name;
    if (w->plan.link[link].fractional)
        snprintf(
            note, sizeof note,
            "%s gives numbers between -2 and 2 here, of which %s keeps whole ones alone; write float32 (a "
            ".tif or .mrc without --dtype)",
            filter, type);
    else if (w->format == VF_FORMAT_PNG && !w->options->dtype_given)
        snprintf(note, sizeof note,
                 "%s gives float32, but PNG holds integers: values are rounded and saturated to %s, negative "
                 "ones to 0 (--dtype changes the type; a .tif keeps float32)",
                 filter, type);
    else
        return;
    vf_work_say_once(w, w->out_name, note);
}

static void warn_of_filters(struct vf_work *w)
{
    for (int i = 0; i < w->plan.chain->count; i++) {
        const char *note = w->plan.link[i].note;
        char text[sizeof w->plan.link[i].note + 40];
        snprintf(text, sizeof text, "%s: %s", w->plan.chain->link[i].filter->name, note);
        if (note[0] != '\0')
            vf_work_say_once(w, w->in_name, text);
    }
}

void vf_work_warn(struct vf_work *w)
{
    warn_of_rounding(w);
    warn_of_filters(w);
    const struct vf_info *in = w->input;
    char lost[VF_NOTE_TEXT], notes[2 * VF_NOTE_TEXT + 200] = "";
    vf_info_lost(in, &w->result, lost, sizeof lost);
    add_note(notes, sizeof notes, "", in->note);
    add_note(notes, sizeof notes, "not kept: ", lost);
    if (is_ome_name(w->out_name) && w->result.metadata != VF_META_OME)
        add_note(notes, sizeof notes, "", "the result is not OME-TIFF, as the input is not");
    if (in->image_stack && !w->options->slices)
        add_note(notes, sizeof notes, "",
                 "a stack of images, filtered as one volume; --slices filters each image by itself");
    if (notes[0] != '\0')
        vf_work_say_once(w, w->in_name, notes);
}
