/* ctf_packet.c -- packet headers and the first packet
 *
 * Reads and writes the header and the first event, field by field in the order
 * of the format.  A wrong magic number and a version other than 1, 2 and 3 are
 * refused; all other odd values are ctf_reader.c's. */
#include "wire/ctf_packet.h"

const char *
alqi_packet_read(struct alqi_wire_in *in, struct alqi_packet *packet)
{
    if (alqi_wire_in_u32(in) != ALQI_PACKET_MAGIC)
        return "not a packet: no magic number";
    packet->n_bytes = alqi_wire_in_u32(in) / 8;
    packet->begin_us = alqi_wire_in_u64(in);
    packet->end_us = alqi_wire_in_u64(in);
    alqi_wire_in_u32(in); /* flush duration: always 0, told to nobody */
    packet->version = alqi_wire_in_u16(in);
    if (packet->version < 1 || packet->version > 3)
        return "a version of the format other than 1, 2 and 3";
    packet->pid = alqi_wire_in_u64(in);
    packet->domain = packet->version >= 3 ? alqi_wire_in_u16(in) : 0;
    packet->verify_index = alqi_wire_in_u16(in);
    packet->verify_next = alqi_wire_in_u16(in);
    packet->verify_slot = alqi_wire_in_u64(in);
    packet->id_begin = alqi_wire_in_u64(in);
    packet->id_end = alqi_wire_in_u64(in);
    return in->bad ? "a packet header cut short" : NULL;
}

void
alqi_packet_write(struct alqi_wire_out *out, const struct alqi_packet *packet)
{
    alqi_wire_out_u32(out, ALQI_PACKET_MAGIC);
    alqi_wire_out_u32(out, packet->n_bytes * 8);
    alqi_wire_out_u64(out, packet->begin_us);
    alqi_wire_out_u64(out, packet->end_us);
    alqi_wire_out_u32(out, 0);
    alqi_wire_out_u16(out, packet->version);
    alqi_wire_out_u64(out, packet->pid);
    if (packet->version >= 3)
        alqi_wire_out_u16(out, packet->domain);
    alqi_wire_out_u16(out, packet->verify_index);
    alqi_wire_out_u16(out, packet->verify_next);
    alqi_wire_out_u64(out, packet->verify_slot);
    alqi_wire_out_u64(out, packet->id_begin);
    alqi_wire_out_u64(out, packet->id_end);
}

void
alqi_packet_info_read(struct alqi_wire_in *in, uint16_t version,
                      struct alqi_ctf_info *info)
{
    uint64_t rate_bits = alqi_wire_in_u64(in);

    info->version = version;
    memcpy(&info->rate, &rate_bits, sizeof info->rate);
    info->word_bits = alqi_wire_in_u8(in);
    info->executable = alqi_wire_in_str(in);
    info->host = alqi_wire_in_str(in);
    info->params = alqi_wire_in_str(in);
    info->pid = alqi_wire_in_u64(in);
    info->context = version >= 2 ? alqi_wire_in_str(in) : "";
}

void
alqi_packet_info_write(struct alqi_wire_out *out,
                       const struct alqi_ctf_info *info)
{
    uint64_t rate_bits;

    memcpy(&rate_bits, &info->rate, sizeof rate_bits);
    alqi_wire_out_u64(out, rate_bits);
    alqi_wire_out_u8(out, info->word_bits);
    alqi_wire_out_str(out, info->executable);
    alqi_wire_out_str(out, info->host);
    alqi_wire_out_str(out, info->params);
    alqi_wire_out_u64(out, info->pid);
    alqi_wire_out_str(out, info->context);
}
